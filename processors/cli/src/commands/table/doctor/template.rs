//! What the template says: read from the very file that is deployed, which is built into this program.
//!
//! Parameters count with their defaults; what a parameter may change is marked as such by whoever compares.

use saphyr::{LoadableYamlNode as _, Scalar, Yaml};
use serde_json::{Map, Value, json};

const TEMPLATE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../infra/template.yaml"
));

/// Of an alarm, what decides when it rings.
pub(super) const ALARM_SETTINGS: [&str; 8] = [
    "Namespace",
    "MetricName",
    "Statistic",
    "Period",
    "EvaluationPeriods",
    "Threshold",
    "ComparisonOperator",
    "TreatMissingData",
];

/// The template as JSON; a tag `!Sub x` is `{"Fn::Sub": x}`.
#[derive(Debug)]
pub(super) struct Template(Value);

/// What is expected of a deployment.
#[derive(Debug, Default)]
pub(super) struct Expected {
    /// The properties of the table.
    pub(super) table: Value,
    pub(super) mappings: Vec<Mapping>,
    pub(super) queues: Vec<Queue>,
    pub(super) alarms: Vec<Alarm>,
}

/// What feeds a function.
#[derive(Debug)]
pub(super) struct Mapping {
    /// The function's name behind the stack's: `saga`.
    pub(super) function: String,
    /// The queue's name behind the stack's; `None` is the table's stream.
    pub(super) queue: Option<String>,
    pub(super) settings: Map<String, Value>,
}

#[derive(Debug)]
pub(super) struct Queue {
    /// Its name behind the stack's: `search-retry`.
    pub(super) name: String,
    pub(super) properties: Value,
    /// The name of its dead-letter queue, behind the stack's.
    pub(super) dead: Option<String>,
}

#[derive(Debug)]
pub(super) struct Alarm {
    /// Its name behind the stack's: `saga-behind`.
    pub(super) name: String,
    pub(super) description: String,
    /// The condition on which the template makes it.
    pub(super) condition: Option<String>,
    pub(super) settings: Map<String, Value>,
}

impl Template {
    pub(super) fn embedded() -> Result<Self, String> {
        Self::parse(TEMPLATE)
    }

    fn parse(text: &str) -> Result<Self, String> {
        let documents = Yaml::load_from_str(text).map_err(|error| error.to_string())?;
        let document = documents.first().ok_or("it is empty")?;
        Ok(Self(of_yaml(document)?))
    }

    pub(super) fn expected(&self) -> Result<Expected, String> {
        let resources = self.0.get("Resources").and_then(Value::as_object);
        let resources = resources.ok_or("it has no Resources")?;
        let mut expected = Expected::default();
        for (logical_id, resource) in resources {
            let properties = self.resolved(resource.get("Properties").unwrap_or(&Value::Null));
            match resource
                .get("Type")
                .and_then(Value::as_str)
                .unwrap_or_default()
            {
                "AWS::DynamoDB::Table" => expected.table = properties,
                "AWS::Serverless::Function" => {
                    let function = behind_stack(&properties, "FunctionName")?;
                    expected
                        .mappings
                        .extend(self.mappings(&function, &properties)?);
                }
                "AWS::SQS::Queue" => {
                    let name = behind_stack(&properties, "QueueName")?;
                    let dead = properties.pointer("/RedrivePolicy/deadLetterTargetArn");
                    let dead = dead.map(|arn| self.queue(arn)).transpose()?;
                    expected.queues.push(Queue {
                        name,
                        properties,
                        dead,
                    });
                }
                "AWS::CloudWatch::Alarm" => expected.alarms.push(Alarm {
                    name: behind_stack(&properties, "AlarmName")
                        .map_err(|error| format!("{logical_id}: {error}"))?,
                    description: text(&properties, "AlarmDescription").to_owned(),
                    condition: resource
                        .get("Condition")
                        .and_then(Value::as_str)
                        .map(str::to_owned),
                    settings: ALARM_SETTINGS
                        .iter()
                        .filter_map(|name| {
                            Some(((*name).to_owned(), properties.get(*name)?.clone()))
                        })
                        .collect(),
                }),
                _ => {}
            }
        }
        Ok(expected)
    }

    fn mappings(&self, function: &str, properties: &Value) -> Result<Vec<Mapping>, String> {
        let events = properties.get("Events").and_then(Value::as_object);
        let mut mappings = Vec::new();
        for event in events.into_iter().flat_map(Map::values) {
            let Some(Value::Object(settings)) = event.get("Properties") else {
                continue;
            };
            let queue = match (settings.get("Stream"), settings.get("Queue")) {
                (Some(_), _) => None,
                (None, Some(queue)) => Some(self.queue(queue)?),
                (None, None) => continue,
            };
            let mut settings = settings.clone();
            settings.retain(|name, _| !["Stream", "Queue", "Enabled"].contains(&name.as_str()));
            mappings.push(Mapping {
                function: function.to_owned(),
                queue,
                settings,
            });
        }
        Ok(mappings)
    }

    /// The name, behind the stack's, of the queue whose ARN is this.
    fn queue(&self, arn: &Value) -> Result<String, String> {
        let attribute = arn.get("Fn::GetAtt").and_then(Value::as_str);
        let logical_id = attribute.and_then(|text| text.split('.').next());
        let logical_id = logical_id.ok_or_else(|| format!("{arn} is no queue of the template"))?;
        let properties = self
            .0
            .pointer(&format!("/Resources/{logical_id}/Properties"));
        let properties = properties.ok_or_else(|| format!("there is no {logical_id}"))?;
        behind_stack(properties, "QueueName")
    }

    /// With every `!If` decided by the parameters' defaults.
    fn resolved(&self, value: &Value) -> Value {
        match value {
            Value::Object(members) => {
                let choice = members.get("Fn::If").and_then(Value::as_array);
                if let Some([Value::String(condition), yes, no]) = choice.map(Vec::as_slice) {
                    return self.resolved(if self.holds(condition) { yes } else { no });
                }
                let resolved = members
                    .iter()
                    .map(|(name, value)| (name.clone(), self.resolved(value)));
                Value::Object(
                    resolved
                        .filter(|(_, value)| *value != json!({"Ref": "AWS::NoValue"}))
                        .collect(),
                )
            }
            Value::Array(items) => items.iter().map(|item| self.resolved(item)).collect(),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
        }
    }

    /// Whether a condition holds with the parameters' defaults.
    fn holds(&self, condition: &str) -> bool {
        let condition = self.0.pointer(&format!("/Conditions/{condition}"));
        condition.is_some_and(|condition| self.is_true(condition))
    }

    fn is_true(&self, condition: &Value) -> bool {
        let Some((name, inside)) = condition
            .as_object()
            .and_then(|members| members.iter().next())
        else {
            return false;
        };
        match (name.as_str(), inside) {
            ("Fn::Equals", Value::Array(pair)) => {
                matches!(pair.as_slice(), [a, b] if self.default_of(a) == self.default_of(b))
            }
            ("Fn::Not", Value::Array(one)) => one.iter().all(|one| !self.is_true(one)),
            ("Fn::Or", Value::Array(all)) => all.iter().any(|one| self.is_true(one)),
            ("Fn::And", Value::Array(all)) => all.iter().all(|one| self.is_true(one)),
            ("Condition", Value::String(name)) => self.holds(name),
            _ => false,
        }
    }

    fn default_of(&self, value: &Value) -> Value {
        match value.get("Ref").and_then(Value::as_str) {
            Some(parameter) => self
                .0
                .pointer(&format!("/Parameters/{parameter}/Default"))
                .cloned()
                .unwrap_or_default(),
            None => value.clone(),
        }
    }
}

/// `saga` of `{"Fn::Sub": "${AWS::StackName}-saga"}`.
fn behind_stack(properties: &Value, name: &str) -> Result<String, String> {
    let given = properties.get(name).and_then(|value| value.get("Fn::Sub"));
    let behind = given
        .and_then(Value::as_str)
        .and_then(|text| text.strip_prefix("${AWS::StackName}-"));
    behind
        .map(str::to_owned)
        .ok_or_else(|| format!("{name} does not begin with the stack's name"))
}

pub(super) fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn of_yaml(yaml: &Yaml<'_>) -> Result<Value, String> {
    Ok(match yaml {
        Yaml::Value(scalar) => match scalar {
            Scalar::Null => Value::Null,
            Scalar::Boolean(flag) => Value::from(*flag),
            Scalar::Integer(number) => Value::from(*number),
            Scalar::FloatingPoint(number) => Value::from(number.into_inner()),
            Scalar::String(text) => Value::from(text.as_ref()),
        },
        Yaml::Sequence(items) => Value::Array(items.iter().map(of_yaml).collect::<Result<_, _>>()?),
        Yaml::Mapping(members) => {
            let members = members.iter().map(|(name, value)| {
                let name = name
                    .as_str()
                    .ok_or_else(|| format!("{name:?} is no name"))?;
                Ok((name.to_owned(), of_yaml(value)?))
            });
            Value::Object(members.collect::<Result<_, String>>()?)
        }
        Yaml::Tagged(tag, inside) => {
            let name = match tag.suffix.as_str() {
                "Ref" | "Condition" => tag.suffix.clone(),
                function => format!("Fn::{function}"),
            };
            json!({name: of_yaml(inside)?})
        }
        Yaml::Representation(..) | Yaml::Alias(_) | Yaml::BadValue => {
            return Err(format!("{yaml:?} is not understood"));
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_template_says_what_is_checked() {
        let expected = Template::embedded().unwrap().expected().unwrap();
        assert_eq!(
            expected
                .table
                .pointer("/StreamSpecification/StreamViewType"),
            Some(&json!("NEW_AND_OLD_IMAGES"))
        );
        assert_eq!(
            expected.table.get("DeletionProtectionEnabled"),
            Some(&json!(true))
        );
        let readers: Vec<_> = expected
            .mappings
            .iter()
            .filter(|mapping| mapping.queue.is_none())
            .collect();
        assert_eq!(readers.len(), 2, "exactly two readers");
        let saga = readers
            .iter()
            .find(|mapping| mapping.function == "saga")
            .unwrap();
        assert_eq!(saga.settings["BatchSize"], 50);
        assert_eq!(saga.settings["MaximumRecordAgeInSeconds"], 3600);
        let queues: Vec<_> = expected
            .queues
            .iter()
            .filter_map(|queue| Some((queue.name.as_str(), queue.dead.as_deref()?)))
            .collect();
        assert_eq!(
            queues,
            [
                ("archive-retry", "archive-dead"),
                ("search-retry", "search-dead")
            ]
        );
        let fed: Vec<_> = expected
            .mappings
            .iter()
            .filter_map(|mapping| mapping.queue.as_deref())
            .collect();
        assert_eq!(fed, ["archive-retry", "search-retry"]);
        assert!(expected.alarms.len() > 20);
        let stopped = expected
            .alarms
            .iter()
            .find(|alarm| alarm.name == "sweeper-stopped")
            .unwrap();
        assert_eq!(stopped.condition.as_deref(), Some("MappingsOn"));
        assert!(
            expected
                .alarms
                .iter()
                .all(|alarm| alarm.settings.len() == ALARM_SETTINGS.len())
        );
    }

    #[test]
    fn the_indexes_of_the_template_are_those_of_the_store() {
        let expected = Template::embedded().unwrap().expected().unwrap();
        let indexes = expected.table["GlobalSecondaryIndexes"].as_array().unwrap();
        let names: Vec<_> = indexes
            .iter()
            .map(|index| text(index, "IndexName"))
            .collect();
        assert_eq!(
            names,
            sagaline_store::Index::ALL.map(sagaline_store::Index::name)
        );
    }

    #[test]
    fn conditions_are_decided_by_the_defaults_of_parameters() {
        let template = Template::parse(
            "Parameters:\n  A: { Default: \"true\" }\n  B: { Default: \"\" }\nConditions:\n  On: !Equals [!Ref A, \"true\"]\n  \
             Empty: !Equals [!Ref B, \"\"]\n  Both: !And [!Condition On, !Not [!Condition Empty]]\nResources: {}\n",
        )
        .unwrap();
        assert!(
            template.holds("On")
                && template.holds("Empty")
                && !template.holds("Both")
                && !template.holds("None")
        );
    }

    #[test]
    fn what_is_no_template_is_said_to_be_none() {
        assert!(Template::parse("").is_err());
        assert!(Template::parse("a: [").is_err());
        assert!(Template::parse("a: 1").unwrap().expected().is_err());
    }
}
