"""What the mappings of the template must have: those of the stream, and those of the retry queues with the queues themselves."""

import json
from typing import Iterator

from template_view import Finding, Template, referred, rule

TYPE_TAGS = {"S", "N", "B", "BOOL", "NULL", "SS", "NS", "BS", "L", "M"}
FOURTEEN_DAYS = 14 * 24 * 3600
# The figures of each mapping: how long a failing batch may hold its shard, and how much a call may take.
FIGURES = {
    "saga": {"BatchSize": 50, "MaximumRetryAttempts": 10, "MaximumRecordAgeInSeconds": 3600},
    "projector": {"BatchSize": 500, "MaximumBatchingWindowInSeconds": 1, "MaximumRetryAttempts": 1000, "MaximumRecordAgeInSeconds": 43200},
}


# ---------------------------------------------------------------------------------------------------------------------- stream mappings


@rule
def partial_responses(template: Template) -> Iterator[Finding]:
    """Without it Lambda ignores the list of failures and takes the batch as done: what failed is lost."""
    for mapping in [*template.mappings("DynamoDB"), *template.mappings("SQS")]:
        if mapping.settings.get("FunctionResponseTypes") != ["ReportBatchItemFailures"]:
            yield mapping.name, "FunctionResponseTypes", "must be [ReportBatchItemFailures]"


@rule
def bisect(template: Template) -> Iterator[Finding]:
    """Without it a record that always fails takes every record behind it in the batch with it when the retries end."""
    for mapping in template.mappings("DynamoDB"):
        if mapping.settings.get("BisectBatchOnFunctionError") is not True:
            yield mapping.name, "BisectBatchOnFunctionError", "must be true"


@rule
def bounded_retries(template: Template) -> Iterator[Finding]:
    """The default, -1, retries until the record leaves the stream: one bad record holds its shard for a day."""
    for mapping in template.mappings("DynamoDB"):
        retries = mapping.settings.get("MaximumRetryAttempts", -1)
        if not isinstance(retries, int) or not 0 <= retries <= 10_000:
            yield mapping.name, "MaximumRetryAttempts", f"must be between 0 and 10000, is {retries}"


@rule
def bounded_age(template: Template) -> Iterator[Finding]:
    """The default, -1, never gives a record up. Above a day the stream has dropped it, before it could reach the failure bucket."""
    for mapping in template.mappings("DynamoDB"):
        age = mapping.settings.get("MaximumRecordAgeInSeconds", -1)
        if not isinstance(age, int) or not 60 <= age < 86_400:
            yield mapping.name, "MaximumRecordAgeInSeconds", f"must be between 60 and 86399, is {age}"


@rule
def failure_bucket(template: Template) -> Iterator[Finding]:
    """Without a destination a record that is given up on is gone, without even a metric. A queue gets a pointer only, S3 the record."""
    for mapping in template.mappings("DynamoDB"):
        destination = mapping.settings.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination")
        if template.resources.get(referred(destination), {}).get("Type") != "AWS::S3::Bucket":
            yield mapping.name, "DestinationConfig", "OnFailure must be a bucket of this template"


@rule
def from_the_beginning(template: Template) -> Iterator[Finding]:
    """With LATEST what is written while the mapping is made or replaced is never delivered, even a minute after it says Enabled."""
    for mapping in template.mappings("DynamoDB"):
        position = mapping.settings.get("StartingPosition")
        if position != "TRIM_HORIZON":
            yield mapping.name, "StartingPosition", f"must be TRIM_HORIZON, is {position}"


@rule
def event_counts(template: Template) -> Iterator[Finding]:
    """What a mapping drops or sends to its failure bucket is counted by these opt-in metrics alone; the alarms need them."""
    for mapping in [*template.mappings("DynamoDB"), *template.mappings("SQS")]:
        if mapping.settings.get("MetricsConfig") != {"Metrics": ["EventCount"]}:
            yield mapping.name, "MetricsConfig", "must be Metrics: [EventCount]"


@rule
def filter_reads_what_it_means(template: Template) -> Iterator[Finding]:
    """A pattern matches inside the typed form. Without the type tag `exists: false` matches every record, `exists: true` none; a number is text."""
    for mapping, pattern in template.filters():
        unknown = pattern.keys() - {"dynamodb", "eventName"}
        images = pattern.get("dynamodb", {})
        unknown |= images.keys() - {"Keys", "NewImage", "OldImage"} if isinstance(images, dict) else {"dynamodb"}
        for name in sorted(unknown):
            yield mapping.name, "FilterCriteria", f"`{name}` is no part of a record that a pattern may name"
        for image in images.values() if isinstance(images, dict) else []:
            for attribute, typed in image.items():
                if not isinstance(typed, dict) or not typed.keys() <= TYPE_TAGS:
                    yield mapping.name, "FilterCriteria", f"`{attribute}` is matched without its type tag, e.g. {{\"S\": [..]}}"
                elif "numeric" in json.dumps(typed):
                    yield mapping.name, "FilterCriteria", f"`{attribute}` is matched as a number, but every number of a record is text"


@rule
def filter_keeps_heads_only(template: Template) -> Iterator[Finding]:
    """Both consumers want heads. A pattern on an image drops every REMOVE, which the projector needs for its tombstones."""
    for mapping in template.mappings("DynamoDB"):
        patterns = [pattern for of, pattern in template.filters() if of.name == mapping.name]
        if len(patterns) != 1:
            yield mapping.name, "FilterCriteria", f"must have one pattern, has {len(patterns)} (several are joined by OR)"
        for pattern in patterns:
            keys = pattern.get("dynamodb", {}).get("Keys")
            if keys != {"SK": {"S": ["ORDER#DETAIL"]}}:
                yield mapping.name, "FilterCriteria", "must match the sort key ORDER#DETAIL"
            if mapping.function == "ProjectorFunction" and pattern.get("dynamodb", {}).keys() - {"Keys"}:
                yield mapping.name, "FilterCriteria", "the projector's must match keys only"


@rule
def figures(template: Template) -> Iterator[Finding]:
    """How long a failing batch holds its shard, and how much one call takes, is decided once, beside the code that lives by it."""
    for mapping in template.mappings("DynamoDB"):
        for setting, wanted in FIGURES[mapping.function.removesuffix("Function").lower()].items():
            if mapping.settings.get(setting) != wanted:
                yield mapping.name, setting, f"must be {wanted}, is {mapping.settings.get(setting)}"


@rule
def two_readers(template: Template) -> Iterator[Finding]:
    """A shard of a stream serves two readers; a third throttles all of them."""
    readers: dict[str, list[str]] = {}
    for mapping in template.mappings("DynamoDB"):
        readers.setdefault(mapping.source, []).append(mapping.name)
    for table, names in readers.items():
        if len(names) > 2:
            yield table, "StreamSpecification", f"has {len(names)} readers: {', '.join(names)}"


@rule
def enabled(template: Template) -> Iterator[Finding]:
    """A mapping that is off in the template feeds nobody. Only the parameter may turn it off."""
    for mapping in [*template.mappings("DynamoDB"), *template.mappings("SQS")]:
        if mapping.settings.get("Enabled") != {"Fn::If": ["MappingsOn", True, False]}:
            yield mapping.name, "Enabled", "must follow the parameter MappingsEnabled"


# ------------------------------------------------------------------------------------------------------------------------ retry queues


@rule
def queue_outlives_its_function(template: Template) -> Iterator[Finding]:
    """A message that is visible again while its function still works on it is worked on twice: six time-outs and the window, as AWS advises."""
    timeouts = {logical_id: properties.get("Timeout", template.default_timeout_s) for logical_id, _, properties in template.functions()}
    for mapping in template.mappings("SQS"):
        queue = template.resources[mapping.source]["Properties"]
        least = 6 * timeouts[mapping.function] + mapping.settings.get("MaximumBatchingWindowInSeconds", 0)
        if queue.get("VisibilityTimeout", 30) < least:
            yield mapping.source, "VisibilityTimeout", f"must be at least {least} for {mapping.name}"


@rule
def queue_keeps_its_messages(template: Template) -> Iterator[Finding]:
    """A sink may be down for days: a message stays 14 days, is tried a thousand times, and then lies in a dead-letter queue of its own."""
    dead_letter_queues = []
    for mapping in template.mappings("SQS"):
        queue = template.resources[mapping.source]["Properties"]
        dead = referred(queue.get("RedrivePolicy", {}).get("deadLetterTargetArn"))
        dead_letter_queues.append(dead)
        if queue.get("RedrivePolicy", {}).get("maxReceiveCount") != 1000:
            yield mapping.source, "RedrivePolicy", "maxReceiveCount must be 1000"
        for name in (mapping.source, dead):
            if template.resources.get(name, {}).get("Properties", {}).get("MessageRetentionPeriod") != FOURTEEN_DAYS:
                yield name, "MessageRetentionPeriod", f"must be {FOURTEEN_DAYS}"
    if len(set(dead_letter_queues)) != len(dead_letter_queues):
        yield ", ".join(sorted(set(dead_letter_queues))), "RedrivePolicy", "two retry queues share a dead-letter queue"
