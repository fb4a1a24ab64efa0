"""Deploys the template to the local AWS and prints what came of it, as one JSON document:

    {"name", "outputs", "env", "runner": {"functions": {..}, "mappings": [..]}}

`env` is for the command line and for tests. `runner` is the mapping runner's configuration. Every setting is the template's, and every reference
is resolved by the deployment itself, so that local and cloud agree.
"""

import argparse
import io
import json
import sys
import zipfile

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError, WaiterError

import sam

REGION = "us-east-1"
# The local AWS takes any credentials; the SDKs insist on some.
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test", "AWS_REGION": REGION, "AWS_DEFAULT_REGION": REGION}
# What says where a mapping is and not how it works. `Enabled` is off for the local AWS only: the runner feeds the functions instead.
NOT_SETTINGS = {"FunctionName", "EventSourceArn", "Enabled", "Tags"}


def main() -> int:
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--endpoint-url", required=True)
    arguments.add_argument("--stack-name", required=True)
    arguments.add_argument("--parameter", action="append", default=[], metavar="NAME=VALUE")
    arguments.add_argument("--bootstrap", action="append", default=[], metavar="FUNCTION=PATH")
    options = arguments.parse_args()
    local = {"AwsEndpointUrl": options.endpoint_url, "MappingsEnabled": "false", "DeletionProtection": "false"}
    try:
        deployment = Deployment(
            Clients(options.endpoint_url),
            options.stack_name,
            local | dict(pair.split("=", 1) for pair in options.parameter),
            dict(pair.split("=", 1) for pair in options.bootstrap),
        )
        json.dump(deployment.run(), sys.stdout, indent=2)
    except (BotoCoreError, ClientError, DeploymentFailed) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


class DeploymentFailed(Exception):
    """The stack was not created; the text says why."""


class Clients:
    def __init__(self, endpoint_url: str):
        def client(service: str):
            return boto3.client(
                service,
                endpoint_url=endpoint_url,
                region_name=REGION,
                aws_access_key_id=CREDENTIALS["AWS_ACCESS_KEY_ID"],
                aws_secret_access_key=CREDENTIALS["AWS_SECRET_ACCESS_KEY"],
                config=Config(s3={"addressing_style": "path"}, retries={"total_max_attempts": 2}, connect_timeout=5),
            )

        self.cloudformation, self.dynamodb, self.s3, self.sqs = map(client, ("cloudformation", "dynamodb", "s3", "sqs"))


class Deployment:
    def __init__(self, clients: Clients, stack: str, parameters: dict, bootstraps: dict):
        self.clients, self.stack, self.parameters, self.bootstraps = clients, stack, parameters, bootstraps
        self.template = sam.load()
        self.short_names = sam.functions(self.template)
        self.references: list = []
        # The bucket of what CloudFormation reads: the template and the functions' packages.
        self.packages = f"{stack}-packages"

    def run(self) -> dict:
        translated = sam.translate(self.template, self.upload_placeholders())
        runner = self.runner(translated["Resources"])
        outputs = self.create(translated)
        self.finish_table(self.template["Resources"]["OrdersTable"]["Properties"], outputs["OrdersTable"])
        # The references of the runner's configuration became outputs of the stack, and come back as text.
        resolved = [outputs.pop(output_name(index), "") for index in range(len(self.references))]
        runner = fill(runner, resolved)
        for function in runner["functions"].values():
            function["env"] = {name: value for name, value in function["env"].items() if value != ""} | CREDENTIALS
        runner["functions"] = {function.pop("name"): function for function in runner["functions"].values()}
        for mapping in runner["mappings"]:
            self.name_source(mapping)
        env = {name: value for function in runner["functions"].values() for name, value in function["env"].items()}
        return {"name": self.stack, "outputs": outputs, "env": env, "runner": runner}

    def upload_placeholders(self) -> dict:
        """A package for each function, since CloudFormation asks for one. The runner hosts the real bootstraps."""
        self.clients.s3.create_bucket(Bucket=self.packages)
        package = io.BytesIO()
        with zipfile.ZipFile(package, "w") as archive:
            archive.writestr("bootstrap", "#!/bin/sh\nexit 1\n")
        self.clients.s3.put_object(Bucket=self.packages, Key="placeholder.zip", Body=package.getvalue())
        return {logical_id: {"Bucket": self.packages, "Key": "placeholder.zip"} for logical_id in self.short_names}

    def runner(self, resources: dict) -> dict:
        """The runner's configuration with a placeholder for each reference."""
        functions, mappings = {}, []
        for logical_id, resource in resources.items():
            properties = resource.get("Properties", {})
            if resource["Type"] == "AWS::Lambda::Function":
                functions[logical_id] = {
                    "name": self.refer(properties["FunctionName"]),
                    "bootstrap": self.bootstraps.get(self.short_names[logical_id], ""),
                    "env": self.refer(properties["Environment"]["Variables"]),
                    "timeout_s": properties["Timeout"],
                    "memory_mb": properties["MemorySize"],
                }
            elif resource["Type"] == "AWS::Lambda::EventSourceMapping":
                settings = {name: self.refer(value) for name, value in properties.items() if name not in NOT_SETTINGS}
                source = {"function": self.refer(properties["FunctionName"]), "source": self.refer(properties["EventSourceArn"])}
                mappings.append(source | settings)
            elif resource["Type"] == "AWS::Events::Rule" and "ScheduleExpression" in properties:
                for target in properties["Targets"]:
                    function = {"Ref": target["Arn"]["Fn::GetAtt"][0]}
                    mappings.append({"function": self.refer(function), "schedule": self.refer(properties["ScheduleExpression"])})
        return {"functions": functions, "mappings": mappings}

    def refer(self, value):
        """`value` with each reference in it noted, and replaced by its number."""
        if isinstance(value, list):
            return [self.refer(item) for item in value]
        if not isinstance(value, dict):
            return value
        if any(key == "Ref" or key.startswith("Fn::") for key in value):
            self.references.append(value)
            return {"resolved": len(self.references) - 1}
        return {key: self.refer(item) for key, item in value.items()}

    def create(self, translated: dict) -> dict:
        """Creates the stack, waits, and answers with its outputs."""
        references = {output_name(index): {"Value": without_no_value(value)} for index, value in enumerate(self.references)}
        translated["Outputs"] = translated.get("Outputs", {}) | references
        # Inline a template may have 51,200 bytes, from a bucket 1 MB (CloudFormation quotas).
        self.clients.s3.put_object(Bucket=self.packages, Key="template.json", Body=json.dumps(translated).encode())
        cloudformation = self.clients.cloudformation
        cloudformation.create_stack(
            StackName=self.stack,
            TemplateURL=f"{cloudformation.meta.endpoint_url}/{self.packages}/template.json",
            Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in self.parameters.items()],
            Capabilities=["CAPABILITY_IAM"],
        )
        try:
            cloudformation.get_waiter("stack_create_complete").wait(StackName=self.stack, WaiterConfig={"Delay": 0.1, "MaxAttempts": 600})
        except WaiterError as error:
            events = cloudformation.describe_stack_events(StackName=self.stack)["StackEvents"]
            reasons = [f"{e['LogicalResourceId']}: {e['ResourceStatusReason']}" for e in events if e["ResourceStatus"] == "CREATE_FAILED"]
            raise DeploymentFailed("\n".join(reasons) or str(error)) from error
        stack = cloudformation.describe_stacks(StackName=self.stack)["Stacks"][0]
        return {output["OutputKey"]: output["OutputValue"] for output in stack.get("Outputs", [])}

    def finish_table(self, properties: dict, table: str) -> None:
        """Sets what the local CloudFormation leaves out of a table: its time to live and its backups."""
        self.clients.dynamodb.update_time_to_live(TableName=table, TimeToLiveSpecification=properties["TimeToLiveSpecification"])
        self.clients.dynamodb.update_continuous_backups(
            TableName=table, PointInTimeRecoverySpecification=properties["PointInTimeRecoverySpecification"]
        )

    def name_source(self, mapping: dict) -> None:
        """Replaces a source's ARN by what the runner takes: a table's name or a queue's URL."""
        arn = mapping.pop("source", None)
        if arn is None:
            return
        service, resource = arn.split(":")[2], arn.split(":", 5)[5]
        if service == "dynamodb":
            mapping["table"] = resource.split("/")[1]
        else:
            mapping["queue_url"] = self.clients.sqs.get_queue_url(QueueName=resource)["QueueUrl"]


def output_name(index: int) -> str:
    return f"Reference{index}"


def without_no_value(value):
    """`value` with an empty text where it says that there is none: an output must have a value."""
    if value == {"Ref": "AWS::NoValue"}:
        return ""
    if isinstance(value, dict):
        return {key: without_no_value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_no_value(item) for item in value]
    return value


def fill(value, resolved: list):
    """`value` with each placeholder replaced."""
    if isinstance(value, dict):
        if value.keys() == {"resolved"}:
            return resolved[value["resolved"]]
        return {key: fill(item, resolved) for key, item in value.items()}
    if isinstance(value, list):
        return [fill(item, resolved) for item in value]
    return value


if __name__ == "__main__":
    sys.exit(main())
