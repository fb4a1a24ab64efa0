//! What reads the stream and the retry queues: who, with which settings, and how far behind.

use super::super::facts::{Facts, Queue};
use super::super::template::{Expected, Mapping};
use super::{Check, DEPLOY, Verdict, is_same};
use serde_json::{Map, Value};
use std::collections::BTreeSet;

/// A stream keeps a record for a day; two readers a shard are the most that are not throttled (DynamoDB guide, "Change data capture for
/// DynamoDB Streams").
const READERS: usize = 2;

pub(super) fn readers(expected: &Expected, facts: &Facts) -> Vec<Check> {
    let of_stream: Vec<_> = expected
        .mappings
        .iter()
        .filter(|mapping| mapping.queue.is_none())
        .collect();
    let mut checks = match &facts.readers {
        Ok(found) => {
            let mut checks = vec![count(found)];
            for mapping in &of_stream {
                let there = found
                    .iter()
                    .find(|one| is_of(one, facts.stack.as_deref(), &mapping.function));
                checks.extend(one(mapping, there, facts));
            }
            checks
        }
        Err(why) => vec![Check::unknown("stream", "readers", why)],
    };
    checks.extend(
        of_stream
            .into_iter()
            .map(|mapping| behind(mapping, expected, facts)),
    );
    checks
}

/// Exactly two, and all of them on or all of them off.
fn count(found: &[Value]) -> Check {
    const AREA: &str = "stream";
    let on: Vec<_> = found
        .iter()
        .filter(|mapping| is_on(mapping))
        .map(function)
        .collect();
    let wanted = format!("{READERS}, saga and projector");
    if on.len() == READERS {
        return Check::new(
            AREA,
            "readers",
            Verdict::Ok,
            format!("{READERS}: {}", on.join(", ")),
        );
    }
    if on.is_empty() && found.len() == READERS {
        return Check::new(AREA, "readers", Verdict::Warn, "none: both mappings are disabled")
            .wanted(wanted)
            .todo("enable them (parameter MappingsEnabled), unless the mapping runner reads the stream: what is a day old is gone");
    }
    let names = if on.is_empty() {
        "none".to_owned()
    } else {
        format!("{}: {}", on.len(), on.join(", "))
    };
    let todo = if on.len() > READERS {
        "remove the others: more than two readers of a shard are throttled, all of them"
    } else {
        "enable or create what is missing: what is a day old is gone"
    };
    Check::new(AREA, "readers", Verdict::Fail, names)
        .wanted(wanted)
        .todo(todo)
}

fn one(mapping: &Mapping, there: Option<&Value>, facts: &Facts) -> Vec<Check> {
    let area = match &mapping.queue {
        Some(queue) => format!("mapping {queue} -> {}", mapping.function),
        None => format!("mapping stream -> {}", mapping.function),
    };
    let Some(there) = there else {
        return vec![Check::new(&area, "mapping", Verdict::Fail, "it is not there").todo(DEPLOY)];
    };
    let mut checks = vec![if is_on(there) {
        Check::new(&area, "state", Verdict::Ok, "enabled")
    } else {
        Check::new(&area, "state", Verdict::Warn, "disabled")
            .wanted("enabled")
            .todo("enable it (parameter MappingsEnabled)")
    }];
    let problem = there
        .get("LastProcessingResult")
        .and_then(Value::as_str)
        .filter(|text| text.starts_with("PROBLEM"));
    if let Some(problem) = problem {
        checks.push(
            Check::new(&area, "last result", Verdict::Fail, problem)
                .todo("read the function's log"),
        );
    }
    for (name, wanted) in &mapping.settings {
        checks.push(setting(&area, name, wanted, there.get(name), facts));
    }
    checks
}

fn setting(area: &str, name: &str, wanted: &Value, found: Option<&Value>, facts: &Facts) -> Check {
    let Some(found) = found.filter(|found| !found.is_null()) else {
        if facts.redirected {
            return Check::unknown(area, name, "the endpoint does not tell it");
        }
        return Check::new(area, name, Verdict::Fail, "not set")
            .wanted(shown(name, wanted))
            .todo(todo(name));
    };
    let same = match name {
        "FilterCriteria" => patterns(found) == patterns(wanted),
        "DestinationConfig" => {
            let bucket = found
                .pointer("/OnFailure/Destination")
                .and_then(Value::as_str)
                .unwrap_or_default();
            let own = facts
                .stack
                .as_deref()
                .is_none_or(|stack| bucket.contains(&format!(":{stack}-park-")));
            bucket.contains(":s3:::") && own
        }
        _ => is_same(found, wanted),
    };
    if same {
        Check::new(area, name, Verdict::Ok, shown(name, found))
    } else {
        Check::new(area, name, Verdict::Fail, shown(name, found))
            .wanted(shown(name, wanted))
            .todo(todo(name))
    }
}

/// What goes wrong with another value.
fn todo(setting: &str) -> String {
    let why = match setting {
        "FunctionResponseTypes" => "without it one failed record fails its whole batch",
        "BisectBatchOnFunctionError" => {
            "without it one record that stops the function stops all others of its batch"
        }
        "DestinationConfig" => {
            "records that are given up on go to the park bucket, or they are lost"
        }
        "FilterCriteria" => "other records than heads cost an invocation each, or heads are missed",
        "MaximumRetryAttempts" | "MaximumRecordAgeInSeconds" => {
            "a shard waits for its oldest record for so long, then gives it up"
        }
        "MetricsConfig" => "the alarms on what a mapping gives up need it",
        "StartingPosition" => {
            "records from before the mapping are missed otherwise; it cannot be changed later"
        }
        "ScalingConfig" => "a sink that comes back is met by all that waited for it otherwise",
        _ => "the code is made for the template's value",
    };
    format!("{DEPLOY}: {why}")
}

fn shown(name: &str, value: &Value) -> String {
    match (name, value) {
        ("FilterCriteria", _) => patterns(value).into_iter().collect::<Vec<_>>().join(" or "),
        ("DestinationConfig", _) => match value.pointer("/OnFailure/Destination") {
            Some(Value::String(arn)) => arn.clone(),
            _ => "the park bucket".to_owned(),
        },
        (_, Value::Array(all)) => all.iter().map(plain).collect::<Vec<_>>().join(", "),
        (_, Value::Object(members)) => {
            let members: Vec<_> = members
                .iter()
                .map(|(name, value)| format!("{name} {}", shown("", value)))
                .collect();
            members.join(", ")
        }
        _ => plain(value),
    }
}

fn plain(value: &Value) -> String {
    value
        .as_str()
        .map_or_else(|| value.to_string(), str::to_owned)
}

/// The patterns as JSON in one form, whatever their blanks.
fn patterns(criteria: &Value) -> BTreeSet<String> {
    let filters = criteria.get("Filters").and_then(Value::as_array);
    let filters = filters.map(Vec::as_slice).unwrap_or_default();
    let texts = filters
        .iter()
        .filter_map(|filter| filter.get("Pattern")?.as_str());
    texts
        .map(|text| {
            serde_json::from_str::<Value>(text)
                .map_or_else(|_| text.to_owned(), |value| value.to_string())
        })
        .collect()
}

/// How far behind the stream a function was lately: against the alarm, and against the age at which its mapping gives up.
fn behind(mapping: &Mapping, expected: &Expected, facts: &Facts) -> Check {
    const AREA: &str = "stream";
    let name = format!("{} behind", mapping.function);
    let age = match facts.ages.get(&mapping.function) {
        Some(Ok(Some(age))) => *age,
        Some(Ok(None)) => {
            return Check::unknown(
                AREA,
                &name,
                "nothing was measured in the last 15 minutes: nothing was read, or nothing measures",
            );
        }
        Some(Err(why)) => return Check::unknown(AREA, &name, why),
        None => return Check::unknown(AREA, &name, "it was not asked for"),
    };
    let number =
        |settings: &Map<String, Value>, name: &str| settings.get(name).and_then(Value::as_f64);
    let alarm = expected
        .alarms
        .iter()
        .find(|alarm| alarm.name == format!("{}-behind", mapping.function));
    let rings = alarm.and_then(|alarm| number(&alarm.settings, "Threshold"));
    let gives_up =
        number(&mapping.settings, "MaximumRecordAgeInSeconds").map(|seconds| seconds * 1000.0);
    let found = format!("{:.0} s at most in the last 15 minutes", age / 1000.0);
    if gives_up.is_some_and(|limit| age >= limit) {
        return Check::new(AREA, &name, Verdict::Fail, found)
            .todo("its mapping gives records up: read the function's log, then `sagaline dlq ls` and `sagaline search verify --repair`");
    }
    if rings.is_some_and(|limit| age > limit) {
        return Check::new(AREA, &name, Verdict::Warn, found)
            .todo("read the function's log: it fails, or is too slow");
    }
    Check::new(AREA, &name, Verdict::Ok, found)
}

pub(super) fn queues(expected: &Expected, facts: &Facts) -> Vec<Check> {
    let mut checks = Vec::new();
    for queue in &expected.queues {
        let area = format!("queue {}", queue.name);
        let found = match facts.queues.get(&queue.name) {
            Some(Ok(found)) => found,
            Some(Err(why)) if why.starts_with("there is no queue") => {
                checks.push(
                    Check::new(&area, "queue", Verdict::Fail, "it is not there").todo(DEPLOY),
                );
                continue;
            }
            Some(Err(why)) => {
                checks.push(Check::unknown(&area, "queue", why));
                continue;
            }
            None => {
                checks.push(Check::unknown(&area, "queue", "it was not asked for"));
                continue;
            }
        };
        for name in ["MessageRetentionPeriod", "VisibilityTimeout"] {
            let Some(wanted) = queue.properties.get(name) else {
                continue;
            };
            let there = found
                .attributes
                .get(name)
                .map_or("not told", String::as_str);
            checks.push(Check::compared(&area, name, there, &plain(wanted), DEPLOY));
        }
        let is_dead = expected
            .queues
            .iter()
            .any(|other| other.dead.as_deref() == Some(queue.name.as_str()));
        if let Some(dead) = &queue.dead {
            checks.push(redrive(&area, dead, &queue.properties, found, facts));
        }
        checks.push(waiting(&area, found, is_dead));
        let fed = expected
            .mappings
            .iter()
            .find(|mapping| mapping.queue.as_deref() == Some(queue.name.as_str()));
        if let Some(mapping) = fed {
            match &found.readers {
                Ok(readers) => {
                    let there = readers
                        .iter()
                        .find(|one| is_of(one, facts.stack.as_deref(), &mapping.function));
                    checks.extend(one(mapping, there, facts));
                }
                Err(why) => checks.push(Check::unknown(&area, "mapping", why)),
            }
        }
    }
    checks
}

fn redrive(area: &str, dead: &str, properties: &Value, found: &Queue, facts: &Facts) -> Check {
    let policy = found
        .attributes
        .get("RedrivePolicy")
        .and_then(|text| serde_json::from_str::<Value>(text).ok())
        .unwrap_or_default();
    let target = policy
        .get("deadLetterTargetArn")
        .and_then(Value::as_str)
        .unwrap_or_default();
    let target = target.rsplit(':').next().unwrap_or_default();
    // A number, or its text.
    let count = policy
        .get("maxReceiveCount")
        .map_or_else(|| "none".to_owned(), plain);
    let wanted_count = properties
        .pointer("/RedrivePolicy/maxReceiveCount")
        .map_or_else(String::new, plain);
    let stack = facts.stack.as_deref().unwrap_or_default();
    let name = "dead letters";
    let found = format!(
        "after {count} receives to {}",
        if target.is_empty() { "nowhere" } else { target }
    );
    let wanted = format!("after {wanted_count} receives to {stack}-{dead}");
    Check::compared(area, name, &found, &wanted, DEPLOY)
}

fn waiting(area: &str, found: &Queue, is_dead: bool) -> Check {
    let counts = [
        "ApproximateNumberOfMessages",
        "ApproximateNumberOfMessagesNotVisible",
        "ApproximateNumberOfMessagesDelayed",
    ];
    let counts = counts
        .iter()
        .filter_map(|name| found.attributes.get(*name)?.parse::<u64>().ok());
    let count: u64 = counts.sum();
    let shown = format!("{count} messages");
    match (count, is_dead) {
        (0, _) => Check::new(area, "waiting", Verdict::Ok, shown),
        (_, true) => Check::new(area, "waiting", Verdict::Fail, shown)
            .wanted("none")
            .todo("look at them with `sagaline dlq ls`, redrive them with `sagaline dlq redrive`"),
        (_, false) => Check::new(area, "waiting", Verdict::Warn, shown)
            .todo("its sink is down or refuses them: they are tried again by themselves"),
    }
}

fn is_on(mapping: &Value) -> bool {
    let state = mapping
        .get("State")
        .and_then(Value::as_str)
        .unwrap_or_default();
    ["Enabled", "Enabling", "Creating", "Updating"].contains(&state)
}

/// The name of a mapping's function, from its ARN, without an alias.
fn function(mapping: &Value) -> &str {
    let arn = mapping
        .get("FunctionArn")
        .and_then(Value::as_str)
        .unwrap_or_default();
    arn.split(':').nth(6).unwrap_or(arn)
}

fn is_of(mapping: &Value, stack: Option<&str>, name: &str) -> bool {
    let function = function(mapping);
    match stack {
        Some(stack) => {
            function
                .strip_prefix(stack)
                .and_then(|rest| rest.strip_prefix('-'))
                == Some(name)
        }
        None => function.rsplit('-').next() == Some(name),
    }
}
