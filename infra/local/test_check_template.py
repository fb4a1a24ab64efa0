"""Each setting that the code relies on, taken away: the check must name the place and the setting. In SAM and in what it becomes."""

import copy
import unittest
from typing import Callable

import sam
from check_template import check

TEMPLATE = sam.load()
SAGA, PROJECTOR = ("SagaFunction", "Orders"), ("ProjectorFunction", "Orders")


def event(template: dict, mapping: tuple[str, str]) -> dict:
    function, name = mapping
    return template["Resources"][function]["Properties"]["Events"][name]["Properties"]


def properties(template: dict, resource: str) -> dict:
    return template["Resources"][resource]["Properties"]


class Template(unittest.TestCase):
    def check_mapping(self, change: Callable[[dict], None], mapping: tuple[str, str], setting: str) -> None:
        """Expects exactly one finding, for this setting of this mapping, in the SAM template and in the CloudFormation template."""
        template = copy.deepcopy(TEMPLATE)
        change(event(template, mapping))
        self.check_findings(check(template), [f"{mapping[0]}/{mapping[1]}: {setting}: "])
        self.check_findings(check(sam.translate(template)), [f"{mapping[0]}{mapping[1]}: {setting}: "])

    def check_resource(self, change: Callable[[dict], None], resource: str, *settings: str) -> None:
        template = copy.deepcopy(TEMPLATE)
        change(properties(template, resource))
        self.check_findings(check(template), [f"{resource}: {setting}: " for setting in settings])

    def check_findings(self, findings: list[str], expected: list[str]) -> None:
        self.assertEqual(len(findings), len(expected), findings)
        for finding, start in zip(findings, expected):
            self.assertTrue(finding.startswith(start), finding)

    def test_template_passes_as_sam_and_as_cloudformation(self) -> None:
        self.assertEqual(check(TEMPLATE), [])
        self.assertEqual(check(sam.translate(TEMPLATE)), [])

    # C-53
    def test_mapping_without_partial_responses_is_named(self) -> None:
        for mapping in (SAGA, PROJECTOR, ("RedriveFunction", "SearchRetry"), ("RedriveFunction", "ArchiveRetry")):
            self.check_mapping(lambda e: e.pop("FunctionResponseTypes"), mapping, "FunctionResponseTypes")
        self.check_mapping(lambda e: e.update(FunctionResponseTypes=[]), SAGA, "FunctionResponseTypes")

    # C-54
    def test_unbounded_default_is_named_each_alone(self) -> None:
        template = copy.deepcopy(TEMPLATE)
        event(template, SAGA).update(MaximumRetryAttempts=-1)
        # It is unbounded, and not the figure that was decided.
        self.check_findings(check(template), ["SagaFunction/Orders: MaximumRetryAttempts: must be between", "SagaFunction/Orders: MaximumRetryAttempts: must be 10,"])
        event(template, SAGA).update(MaximumRetryAttempts=10)
        del event(template, SAGA)["MaximumRecordAgeInSeconds"]
        self.check_findings(check(template), ["SagaFunction/Orders: MaximumRecordAgeInSeconds: must be between", "SagaFunction/Orders: MaximumRecordAgeInSeconds: must be 3600,"])
        self.check_mapping(lambda e: e.pop("DestinationConfig"), PROJECTOR, "DestinationConfig")
        self.check_mapping(lambda e: e.update(BisectBatchOnFunctionError=False), SAGA, "BisectBatchOnFunctionError")
        self.check_mapping(lambda e: e.pop("BisectBatchOnFunctionError"), PROJECTOR, "BisectBatchOnFunctionError")

    # C-54: a queue gets a pointer to the records only.
    def test_failure_destination_that_is_no_bucket_is_named(self) -> None:
        to_queue = {"OnFailure": {"Destination": {"Fn::GetAtt": ["SearchDeadLetterQueue", "Arn"]}}}
        self.check_mapping(lambda e: e.update(DestinationConfig=to_queue), SAGA, "DestinationConfig")

    # C-55
    def test_start_that_skips_what_is_there_is_named(self) -> None:
        self.check_mapping(lambda e: e.update(StartingPosition="LATEST"), PROJECTOR, "StartingPosition")

    # C-56
    def test_filter_that_matches_something_else_than_meant_is_named(self) -> None:
        head = '"Keys":{"SK":{"S":["ORDER#DETAIL"]}}'
        for image in (
            '{"due_pk":[{"exists":true}]}',
            '{"due_pk":[{"exists":false}]}',
            '{"version":{"N":[{"numeric":[">",3]}]}}',
        ):
            pattern = f'{{"dynamodb":{{{head},"NewImage":{image}}}}}'
            self.check_mapping(lambda e: e.update(FilterCriteria={"Filters": [{"Pattern": pattern}]}), SAGA, "FilterCriteria")

    # C-56
    def test_filter_that_drops_what_a_consumer_needs_is_named(self) -> None:
        pattern = '{"dynamodb":{"Keys":{"SK":{"S":["ORDER#DETAIL"]}},"NewImage":{"version":{"N":[{"exists":true}]}}}}'
        self.check_mapping(lambda e: e.update(FilterCriteria={"Filters": [{"Pattern": pattern}]}), PROJECTOR, "FilterCriteria")
        self.check_mapping(lambda e: e.pop("FilterCriteria"), SAGA, "FilterCriteria")

    # C-46
    def test_failed_output_among_the_data_is_named(self) -> None:
        def destination(change: dict) -> Callable[[dict], None]:
            return lambda stream: stream["ExtendedS3DestinationConfiguration"].update(change)

        self.check_resource(destination({"ErrorOutputPrefix": "changes/errors/!{firehose:error-output-type}/"}), "ArchiveStream", "ErrorOutputPrefix")
        self.check_resource(destination({"ErrorOutputPrefix": "errors/"}), "ArchiveStream", "ErrorOutputPrefix")
        self.check_resource(destination({"ErrorOutputPrefix": ""}), "ArchiveStream", "ErrorOutputPrefix", "ErrorOutputPrefix")
        self.check_resource(destination({"Prefix": "changes/"}), "ArchiveStream", "Prefix")
        self.check_resource(destination({"Prefix": "elsewhere/dt=!{partitionKeyFromQuery:dt}/"}), "ArchiveStream", "Prefix")
        self.check_resource(destination({"BufferingHints": {"SizeInMBs": 5}}), "ArchiveStream", "BufferingHints")

    def test_third_reader_of_the_stream_is_named(self) -> None:
        template = copy.deepcopy(TEMPLATE)
        events = properties(template, "SagaFunction")["Events"]
        events["Again"] = copy.deepcopy(events["Orders"])
        findings = check(template)
        self.assertTrue(any(f.startswith("OrdersTable: StreamSpecification: has 3 readers") for f in findings), findings)

    def test_queue_that_shows_a_message_too_early_or_loses_it_is_named(self) -> None:
        self.check_resource(lambda queue: queue.update(VisibilityTimeout=300), "SearchRetryQueue", "VisibilityTimeout")
        self.check_resource(lambda queue: queue.pop("MessageRetentionPeriod"), "ArchiveDeadLetterQueue", "MessageRetentionPeriod")

    def test_table_without_its_guards_is_named(self) -> None:
        guards = ("StreamSpecification", "TimeToLiveSpecification", "PointInTimeRecoverySpecification", "DeletionProtectionEnabled")
        for setting in guards + ("BillingMode", "KeySchema", "AttributeDefinitions"):
            self.check_resource(lambda table: table.pop(setting), "OrdersTable", setting)
        self.check_resource(lambda table: table["GlobalSecondaryIndexes"].pop(), "OrdersTable", "GlobalSecondaryIndexes")
        for number, index in enumerate(("due", "by_status", "by_updated")):
            self.check_resource(lambda table: table["GlobalSecondaryIndexes"][number].update(Projection={"ProjectionType": "ALL"}), "OrdersTable", "GlobalSecondaryIndexes")
            self.check_resource(lambda table: table["GlobalSecondaryIndexes"][number].update(IndexName=index + "_2"), "OrdersTable", "GlobalSecondaryIndexes")
            self.check_resource(lambda table: table["GlobalSecondaryIndexes"][number]["KeySchema"].reverse(), "OrdersTable", "GlobalSecondaryIndexes")

    def test_right_beyond_what_a_function_does_is_named(self) -> None:
        def add(statement: dict) -> Callable[[dict], None]:
            return lambda role: role["Policies"][0]["PolicyDocument"]["Statement"].append(statement)

        self.check_resource(add({"Effect": "Allow", "Action": "s3:*", "Resource": "arn"}), "SagaRole", "Policies")
        self.check_resource(add({"Effect": "Allow", "Action": ["s3:GetObject"], "Resource": "*"}), "SagaRole", "Policies")
        self.check_resource(lambda role: role.update(ManagedPolicyArns=["arn"]), "SagaRole", "ManagedPolicyArns")

    def test_every_alarm_that_an_operator_needs_is_missed_when_it_is_gone(self) -> None:
        for name in (name for name, resource in TEMPLATE["Resources"].items() if resource["Type"] == "AWS::CloudWatch::Alarm"):
            template = copy.deepcopy(TEMPLATE)
            metric = template["Resources"].pop(name)["Properties"]["MetricName"]
            findings = check(template)
            # The rest watches what AWS runs by itself; no code relies on it.
            if metric not in ("Invocations", "Errors", "DeliveryToS3.DataFreshness", "FailedConversion.Records", "ClusterStatus.red", "FreeStorageSpace"):
                self.assertEqual([finding for finding in findings if f"no alarm on {metric} " in finding], findings)
                self.assertEqual(len(findings), 1, name)

    def test_work_that_the_clock_does_no_more_is_named(self) -> None:
        self.check_resource(lambda function: function["Events"].pop("Drift"), "RedriveFunction", "Events")
        self.check_resource(lambda function: function["Events"]["EveryMinute"]["Properties"].update(Schedule="rate(1 hour)"), "SweeperFunction", "Events")

    def test_columns_that_differ_between_the_tables_of_the_archive_are_named(self) -> None:
        def retype(table: dict) -> None:
            table["TableInput"]["StorageDescriptor"]["Columns"][1]["Type"] = "int"

        self.check_resource(retype, "OversizeTable", "Columns")
        self.check_resource(retype, "ExportedItemsTable", "Columns")


if __name__ == "__main__":
    unittest.main()
