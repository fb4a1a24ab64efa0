"""What the other resources of the template must have."""

import json
from pathlib import Path
from typing import Iterator

from template_view import Finding, Template, referred, rule, text

# The table as data: key builders, documentation and archive are held to it as well.
SCHEMA = json.loads((Path(__file__).resolve().parent.parent / "schema" / "orders.schema.json").read_text(encoding="utf-8"))
ENVIRONMENT = {
    "saga": {"ORDERS_TABLE", "PARK_BUCKET", "PAYMENT_URL", "EVENT_BUS"},
    "sweeper": {"ORDERS_TABLE", "PARK_BUCKET", "PAYMENT_URL", "EVENT_BUS"},
    "projector": {"ORDERS_TABLE", "PARK_BUCKET", "OPENSEARCH_ENDPOINT", "ARCHIVE_STREAM", "ARCHIVE_BUCKET", "SEARCH_RETRY_QUEUE_URL", "ARCHIVE_RETRY_QUEUE_URL"},
    "redrive": {"ORDERS_TABLE", "PARK_BUCKET", "OPENSEARCH_ENDPOINT", "ARCHIVE_STREAM", "ARCHIVE_BUCKET"},
}


# ------------------------------------------------------------------------------------------------------------------------------ the table


@rule
def table(template: Template) -> Iterator[Finding]:
    """The table is as infra/schema/orders.schema.json describes it: both images for the consumers, a time to live for garbage, and what saves the only copy of the orders."""
    described, indexes = SCHEMA["table"], SCHEMA["indexes"].values()
    keys = [key for owner in (described, *indexes) for key in (owner["partition"], owner["sort"])]
    for name, properties in template.of("AWS::DynamoDB::Table"):
        wanted = {
            "StreamSpecification": {"StreamViewType": described["stream"]},
            "TimeToLiveSpecification": {"AttributeName": described["time_to_live"], "Enabled": True},
            "PointInTimeRecoverySpecification": {"PointInTimeRecoveryEnabled": described["point_in_time_recovery"]},
            "DeletionProtectionEnabled": {"Fn::If": ["IsProtected", described["deletion_protection"], False]},
            "BillingMode": described["billing"],
            "KeySchema": key_schema(described),
            "AttributeDefinitions": [{"AttributeName": key["name"], "AttributeType": key["type"]} for key in keys],
        }
        for setting, value in wanted.items():
            if properties.get(setting) != value:
                yield name, setting, f"must be {json.dumps(value)}"
        if template.resources[name].get("DeletionPolicy") != "Retain":
            yield name, "DeletionPolicy", "must be Retain"


@rule
def indexes(template: Template) -> Iterator[Finding]:
    """The indexes are those of infra/schema/orders.schema.json, each sparse by keys of its own."""
    wanted = {}
    for index, described in SCHEMA["indexes"].items():
        projection = {"ProjectionType": described["projection"]["type"]}
        if "include" in described["projection"]:
            projection["NonKeyAttributes"] = described["projection"]["include"]
        wanted[index] = {"IndexName": index, "KeySchema": key_schema(described), "Projection": projection}
    for name, properties in template.of("AWS::DynamoDB::Table"):
        if {index["IndexName"]: index for index in properties.get("GlobalSecondaryIndexes", [])} != wanted:
            yield name, "GlobalSecondaryIndexes", f"must be {json.dumps(wanted)}"


@rule
def throttled(template: Template) -> Iterator[Finding]:
    """A hot key is seen when it is refused, and whose it is: the table's or an index's, which throttles the table."""
    wanted = {("ReadThrottleEvents", None), ("WriteThrottleEvents", None)} | {("WriteThrottleEvents", index) for index in SCHEMA["indexes"]}
    found = set()
    for _, properties in template.of("AWS::CloudWatch::Alarm"):
        of = {dimension["Name"]: dimension["Value"] for dimension in properties["Dimensions"]}
        if properties["MetricName"].endswith("ThrottleEvents") and referred(of.get("TableName")) == "OrdersTable":
            found.add((properties["MetricName"], of.get("GlobalSecondaryIndexName")))
    for metric, index in sorted(wanted - found, key=str):
        yield index or "OrdersTable", "AWS::CloudWatch::Alarm", f"no alarm on {metric}"
    for metric, index in sorted(found - wanted, key=str):
        yield index or "OrdersTable", "AWS::CloudWatch::Alarm", f"an alarm on {metric} of what is not there"


def key_schema(described: dict) -> list[dict]:
    return [{"AttributeName": described["partition"]["name"], "KeyType": "HASH"}, {"AttributeName": described["sort"]["name"], "KeyType": "RANGE"}]


# ---------------------------------------------------------------------------------------------------------------------- the functions


@rule
def runtime(template: Template) -> Iterator[Finding]:
    """The packages are executables called `bootstrap`, built against the C library of this runtime."""
    for name, _, properties in template.functions():
        for setting, wanted in {"Runtime": "provided.al2023", "Handler": "bootstrap"}.items():
            # In the SAM template these come from Globals.
            if properties.get(setting, wanted) != wanted:
                yield name, setting, f"must be {wanted}"


@rule
def environment(template: Template) -> Iterator[Finding]:
    """A function stops at its start when a variable is missing."""
    for name, short_name, properties in template.functions():
        if template.resources[name]["Type"] == "AWS::Lambda::Function":
            missing = ENVIRONMENT[short_name] - properties["Environment"]["Variables"].keys()
            for variable in sorted(missing):
                yield name, "Environment", f"{variable} is missing"


@rule
def least_privilege(template: Template) -> Iterator[Finding]:
    """Each function may do what it does and no more: a role of its own, no managed policy, no wildcard action or resource."""
    roles = [referred(properties.get("Role")) for _, _, properties in template.functions()]
    if len(set(roles)) != len(roles):
        yield "Role", "Role", "two functions share one"
    for name, properties in template.of("AWS::IAM::Role"):
        if "ManagedPolicyArns" in properties:
            yield name, "ManagedPolicyArns", "must not be there"
        for statement in statements(properties):
            actions = statement["Action"] if isinstance(statement["Action"], list) else [statement["Action"]]
            if any("*" in action for action in actions):
                yield name, "Policies", f"a wildcard in {actions}"
            # Listing streams knows no resource.
            if statement["Resource"] == "*" and actions != ["dynamodb:ListStreams"]:
                yield name, "Policies", f"{actions} on every resource"


def statements(role: dict) -> Iterator[dict]:
    for policy in role["Policies"]:
        for statement in policy["PolicyDocument"]["Statement"]:
            yield statement["Fn::If"][1] if "Fn::If" in statement else statement


@rule
def schedules(template: Template) -> Iterator[Finding]:
    """What nobody sends a message for is done by the clock: overdue orders, and the comparison of table and index, twice in the time that it looks back."""
    found = {}
    for name, _, properties in template.functions():
        for event in properties.get("Events", {}).values():
            if event["Type"] == "Schedule":
                found[name] = event["Properties"]["Schedule"]
    for _, properties in template.of("AWS::Events::Rule"):
        for target in properties.get("Targets", []) if "ScheduleExpression" in properties else []:
            found[referred(target["Arn"])] = properties["ScheduleExpression"]
    for name, wanted in (("SweeperFunction", "rate(1 minute)"), ("RedriveFunction", "rate(1 hour)")):
        if found.get(name) != wanted:
            yield name, "Events", f"must have the schedule {wanted}"


@rule
def logs_end(template: Template) -> Iterator[Finding]:
    """A log group that Lambda makes by itself is kept, and paid for, for ever."""
    for name, properties in template.of("AWS::Logs::LogGroup"):
        if "RetentionInDays" not in properties:
            yield name, "RetentionInDays", "must be there"
    for name, _, properties in template.functions():
        if template.resources.get(referred(properties.get("LoggingConfig", {}).get("LogGroup")), {}).get("Type") != "AWS::Logs::LogGroup":
            yield name, "LoggingConfig", "must name a log group of this template"


# ------------------------------------------------------------------------------------------------------------------------ the archive


@rule
def archive_prefixes(template: Template) -> Iterator[Finding]:
    """Rows lie by the day of their event, and what failed never lies among them: a query would read it as rows."""
    locations = [text(properties["TableInput"]["StorageDescriptor"]["Location"]).split("/", 3)[3] for _, properties in template.of("AWS::Glue::Table")]
    for name, properties in template.of("AWS::KinesisFirehose::DeliveryStream"):
        destination = properties["ExtendedS3DestinationConfiguration"]
        prefix, errors = destination.get("Prefix", ""), destination.get("ErrorOutputPrefix", "")
        if "dt=!{partitionKeyFromQuery:dt}/" not in prefix or not any(prefix.startswith(location) for location in locations):
            yield name, "Prefix", "must be `dt=!{partitionKeyFromQuery:dt}/` below the location of a Glue table"
        if "!{firehose:error-output-type}" not in errors or "partitionKeyFrom" in errors:
            yield name, "ErrorOutputPrefix", "must hold !{firehose:error-output-type}, and no partition key"
        if not errors or any(errors.startswith(location) or location.startswith(errors.split("!")[0]) for location in locations):
            yield name, "ErrorOutputPrefix", "must be outside of every table's location"


@rule
def archive_conversion(template: Template) -> Iterator[Finding]:
    """Rows become Parquet by the columns of the Glue table. Conversion and partitioning by a row's day take at least 64 MiB of buffer."""
    for name, properties in template.of("AWS::KinesisFirehose::DeliveryStream"):
        destination = properties["ExtendedS3DestinationConfiguration"]
        for setting in ("DynamicPartitioningConfiguration", "ProcessingConfiguration", "DataFormatConversionConfiguration"):
            if destination.get(setting, {}).get("Enabled") is not True:
                yield name, setting, "must be enabled"
        parameters = [p for x in destination.get("ProcessingConfiguration", {}).get("Processors", []) for p in x["Parameters"]]
        if {"ParameterName": "MetadataExtractionQuery", "ParameterValue": "{dt:.dt}"} not in parameters:
            yield name, "ProcessingConfiguration", "must take the partition key with {dt:.dt}"
        if destination.get("BufferingHints", {}).get("SizeInMBs", 0) < 64:
            yield name, "BufferingHints", "SizeInMBs must be at least 64"
        if destination.get("CompressionFormat") != "UNCOMPRESSED":
            yield name, "CompressionFormat", "must be UNCOMPRESSED: Parquet compresses by itself"


@rule
def one_row_shape(template: Template) -> Iterator[Finding]:
    """The audit view puts the tables together: the same columns in each. `dt` is in the path of the partitioned table, and in a row of the others."""
    columns = {name: [(c["Name"], c["Type"]) for c in p["TableInput"]["StorageDescriptor"]["Columns"]] for name, p in template.of("AWS::Glue::Table")}
    wanted = columns.get("ChangesTable", [])
    items = [("pk", "string"), ("sk", "string"), ("item", "string")]
    for name, found in columns.items():
        if name == "ExportedItemsTable":
            # What `sagaline archive export-table` writes.
            if found != items:
                yield name, "Columns", "must be pk, sk and item, all text"
        elif [column for column in found if column[0] != "dt"] != wanted:
            yield name, "Columns", "must be those of ChangesTable"


# ----------------------------------------------------------------------------------------------------------------------------- buckets


@rule
def buckets(template: Template) -> Iterator[Finding]:
    """They hold personal data: encrypted, closed to the public. What is parked goes after 30 days, the archive stays, in every version."""
    for name, properties in template.of("AWS::S3::Bucket"):
        if set(properties.get("PublicAccessBlockConfiguration", {}).values()) != {True}:
            yield name, "PublicAccessBlockConfiguration", "must block all"
        if "BucketEncryption" not in properties:
            yield name, "BucketEncryption", "must be there"
        rules = properties.get("LifecycleConfiguration", {}).get("Rules", [])
        expirations = [rule.get("ExpirationInDays") for rule in rules if "ExpirationInDays" in rule]
        if expirations != ([30] if name == "ParkBucket" else []):
            yield name, "LifecycleConfiguration", f"objects expire after {expirations} days"
        if name == "ArchiveBucket":
            if properties.get("VersioningConfiguration") != {"Status": "Enabled"}:
                yield name, "VersioningConfiguration", "must be Enabled"
            moved = {rule["Prefix"] for rule in rules for move in rule.get("Transitions", []) if move["TransitionInDays"] == 30 and "GLACIER" in move["StorageClass"]}
            if moved != {"changes/", "oversize/", "tables/"}:
                yield name, "LifecycleConfiguration", "changes/, oversize/ and tables/ must go to Glacier after 30 days"


# ------------------------------------------------------------------------------------------------------------------------------ alarms


@rule
def alarms(template: Template) -> Iterator[Finding]:
    """Nothing ends silently: whatever waits, is parked, given up on or overdue reaches a person."""
    found = {(properties["MetricName"], referred(properties["Dimensions"][0]["Value"])) for _, properties in template.of("AWS::CloudWatch::Alarm")}
    queues = [(mapping.source, referred(template.resources[mapping.source]["Properties"].get("RedrivePolicy", {}).get("deadLetterTargetArn"))) for mapping in template.mappings("SQS")]
    wanted = [("ApproximateAgeOfOldestMessage", queue) for queue, _ in queues]
    wanted += [("ApproximateNumberOfMessagesVisible", dead) for _, dead in queues]
    for mapping in template.mappings("DynamoDB"):
        wanted += [("OnFailureDestinationDeliveredEventCount", mapping.name.replace("/", "")), ("DestinationDeliveryFailures", mapping.function), ("IteratorAge", mapping.function)]
    wanted += [("RecordsParked", function) for function in ("SagaFunction", "ProjectorFunction", "RedriveFunction")]
    wanted += [("OldestOverdueSeconds", "SweeperFunction"), ("OrderNeedsAttention", "SagaFunction"), ("OrderNeedsAttention", "SweeperFunction")]
    wanted += [("OrdersFailed", "SweeperFunction"), ("VersionUnchanged", "SagaFunction"), ("VersionUnchanged", "ProjectorFunction")]
    wanted += [("SearchDriftCount", "RedriveFunction"), ("SearchDriftUnfinished", "RedriveFunction")]
    for metric, of in wanted:
        if (metric, of) not in found:
            yield of, "AWS::CloudWatch::Alarm", f"no alarm on {metric}"
