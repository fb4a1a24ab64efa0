"""What the rules look at: a template's resources, the same way for SAM and for CloudFormation. And `@rule`, which collects them."""

import json
from dataclasses import dataclass
from typing import Callable, Iterator

Finding = tuple[str, str, str]
RULES: list[Callable[["Template"], Iterator[Finding]]] = []


@dataclass
class Mapping:
    name: str
    function: str
    kind: str
    source: str
    settings: dict


class Template:
    """A template's resources, the same way for SAM and for CloudFormation."""

    def __init__(self, template: dict):
        self.resources = template["Resources"]
        # Lambda's default is 3 s.
        self.default_timeout_s = template.get("Globals", {}).get("Function", {}).get("Timeout", 3)

    def of(self, *types: str) -> Iterator[tuple[str, dict]]:
        for logical_id, resource in self.resources.items():
            if resource["Type"] in types:
                yield logical_id, resource.get("Properties", {})

    def functions(self) -> Iterator[tuple[str, str, dict]]:
        """Logical id, short name, properties."""
        for logical_id, properties in self.of("AWS::Serverless::Function", "AWS::Lambda::Function"):
            yield logical_id, logical_id.removesuffix("Function").lower(), properties

    def mappings(self, kind: str) -> Iterator[Mapping]:
        for function, properties in self.of("AWS::Serverless::Function"):
            for name, event in properties.get("Events", {}).items():
                source = event["Properties"].get("Stream") or event["Properties"].get("Queue")
                if event["Type"] in ("DynamoDB", "SQS"):
                    yield from of_kind(kind, Mapping(f"{function}/{name}", function, event["Type"], referred(source), event["Properties"]))
        for name, properties in self.of("AWS::Lambda::EventSourceMapping"):
            source = properties["EventSourceArn"]
            source_kind = "DynamoDB" if self.resources[referred(source)]["Type"] == "AWS::DynamoDB::Table" else "SQS"
            yield from of_kind(kind, Mapping(name, referred(properties["FunctionName"]), source_kind, referred(source), properties))

    def filters(self) -> Iterator[tuple[Mapping, dict]]:
        for mapping in self.mappings("DynamoDB"):
            for entry in mapping.settings.get("FilterCriteria", {}).get("Filters", []):
                yield mapping, json.loads(entry["Pattern"])


def of_kind(kind: str, mapping: Mapping) -> list[Mapping]:
    return [mapping] if mapping.kind == kind else []


def referred(value) -> str:
    """The logical id that a `Ref` or a `GetAtt` names."""
    if isinstance(value, dict):
        target = value.get("Ref") or value.get("Fn::GetAtt", "")
        return target[0] if isinstance(target, list) else target.split(".")[0]
    return str(value)


def text(value) -> str:
    """The text of a value that may be an `Fn::Sub`."""
    return value.get("Fn::Sub", "") if isinstance(value, dict) else str(value or "")


def rule(check: Callable) -> Callable:
    RULES.append(check)
    return check
