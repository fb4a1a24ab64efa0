//! What is there against what the template wants. Pure: no network, no clock.

mod feeds;
mod table;

use super::facts::Facts;
use super::template::Expected;
use serde_json::Value;

/// Where the answer to most findings is.
const DEPLOY: &str = "deploy the template again";

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Ok,
    /// To be looked at.
    Warn,
    Fail,
    /// It could not be found out.
    Unknown,
}

impl Verdict {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
            Self::Unknown => "unknown",
        }
    }
}

/// One thing that was looked at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Check {
    /// Of what: the table, a mapping, a queue, the alarms.
    pub(super) area: String,
    pub(super) name: String,
    pub(super) verdict: Verdict,
    pub(super) found: String,
    /// What the template wants, where it is not there.
    pub(super) wanted: Option<String>,
    pub(super) todo: String,
}

impl Check {
    fn new(area: &str, name: &str, verdict: Verdict, found: impl Into<String>) -> Self {
        Self {
            area: area.to_owned(),
            name: name.to_owned(),
            verdict,
            found: found.into(),
            wanted: None,
            todo: String::new(),
        }
    }

    fn wanted(mut self, wanted: impl Into<String>) -> Self {
        self.wanted = Some(wanted.into());
        self
    }

    fn todo(mut self, todo: impl Into<String>) -> Self {
        self.todo = todo.into();
        self
    }

    /// A value against the one that is wanted.
    fn compared(area: &str, name: &str, found: &str, wanted: &str, todo: &str) -> Self {
        if found == wanted {
            Self::new(area, name, Verdict::Ok, found)
        } else {
            Self::new(area, name, Verdict::Fail, found)
                .wanted(wanted)
                .todo(todo)
        }
    }

    fn unknown(area: &str, name: &str, why: &str) -> Self {
        Self::new(area, name, Verdict::Unknown, why)
    }
}

/// Every check, the table's first.
pub(super) fn all(expected: &Expected, facts: &Facts) -> Vec<Check> {
    let mut checks = table::checks(expected, facts);
    checks.extend(feeds::readers(expected, facts));
    checks.extend(feeds::queues(expected, facts));
    checks.extend(alarms(expected, facts));
    checks
}

fn alarms(expected: &Expected, facts: &Facts) -> Vec<Check> {
    const AREA: &str = "alarms";
    let found = match &facts.alarms {
        Ok(found) => found,
        Err(why) => return vec![Check::unknown(AREA, "alarms", why)],
    };
    let stack = facts.stack.as_deref().unwrap_or_default();
    let mut checks: Vec<Check> = expected
        .alarms
        .iter()
        .map(|alarm| {
            let name = format!("{stack}-{}", alarm.name);
            let there = found.iter().find(|one| one.get("AlarmName").and_then(Value::as_str) == Some(name.as_str()));
            let Some(there) = there else {
                return match &alarm.condition {
                    Some(condition) => Check::unknown(AREA, &alarm.name, &format!("it is not there, which is right unless {condition} holds for this stack")),
                    None => Check::new(AREA, &alarm.name, Verdict::Fail, "it is not there").todo(DEPLOY),
                };
            };
            let other = alarm.settings.iter().find(|(name, wanted)| !there.get(*name).is_some_and(|found| is_same(found, wanted)));
            if let Some((setting, wanted)) = other {
                let known = there.get(setting);
                if known.is_none() && facts.redirected {
                    return Check::unknown(AREA, &alarm.name, &format!("the endpoint does not tell its {setting}"));
                }
                let found = known.map_or_else(|| "nothing".to_owned(), Value::to_string);
                return Check::new(AREA, &alarm.name, Verdict::Fail, format!("{setting} is {found}"))
                    .wanted(wanted.to_string())
                    .todo(DEPLOY);
            }
            let state = there.get("StateValue").and_then(Value::as_str).unwrap_or("?");
            if state == "ALARM" {
                return Check::new(AREA, &alarm.name, Verdict::Warn, "it rings").todo(alarm.description.clone());
            }
            // Without data it is as the template has it all the same: most count what rarely happens.
            Check::new(AREA, &alarm.name, Verdict::Ok, if state == "OK" { "" } else { "(no data)" })
        })
        .collect();
    let calls = |alarm: &Value| {
        alarm
            .get("AlarmActions")
            .and_then(Value::as_array)
            .is_some_and(|all| !all.is_empty())
    };
    if !found.is_empty() && !found.iter().any(calls) {
        let check = Check::new(AREA, "actions", Verdict::Warn, "no alarm calls anybody");
        checks.push(check.todo("set the parameter AlarmTopic of the stack"));
    }
    checks
}

/// Numbers are compared as numbers: `900` is `900.0`.
fn is_same(a: &Value, b: &Value) -> bool {
    match (a.as_f64(), b.as_f64()) {
        (Some(a), Some(b)) => (a - b).abs() < f64::EPSILON,
        _ => a == b,
    }
}

#[cfg(test)]
mod tests;
