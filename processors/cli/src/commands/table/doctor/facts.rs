//! What is there: asked of DynamoDB, Lambda, SQS and CloudWatch. Nothing is judged here, and nothing is left out silently: what could not be
//! found out has its reason.

use super::asker::{Asker, endpoint};
use super::template::Expected;
use crate::commands::table::sdk;
use crate::session::Session;
use aws_sdk_dynamodb::types::{PointInTimeRecoveryStatus, TableDescription, TimeToLiveStatus};
use aws_sdk_sqs::types::QueueAttributeName as Attribute;
use futures::future::join_all;
use sagaline_lambda::{now, one_line};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// Something that was asked for, or why it is not known.
pub(super) type Known<T> = Result<T, String>;

/// The iterator age is looked at for so long, in seconds.
const LOOK_BACK: i64 = 900;
/// Alarms a page (CloudWatch API, DescribeAlarms).
const ALARMS: u32 = 100;

#[derive(Debug)]
pub(super) struct Facts {
    pub(super) stack: Option<String>,
    /// The endpoint is not AWS: what it does not tell may be what it lacks.
    pub(super) redirected: bool,
    pub(super) table: Known<TableDescription>,
    /// The attribute, if it is on.
    pub(super) time_to_live: Known<Option<String>>,
    pub(super) recovery: Known<bool>,
    /// The mappings of the stream, of all functions.
    pub(super) readers: Known<Vec<Value>>,
    pub(super) queues: BTreeMap<String, Known<Queue>>,
    pub(super) alarms: Known<Vec<Value>>,
    /// Milliseconds, by function; `None` if nothing was measured lately.
    pub(super) ages: BTreeMap<String, Known<Option<f64>>>,
}

#[derive(Debug)]
pub(super) struct Queue {
    pub(super) attributes: BTreeMap<String, String>,
    pub(super) readers: Known<Vec<Value>>,
}

impl Facts {
    pub(super) async fn gather(
        session: &Session,
        stack: Option<&str>,
        expected: &Expected,
    ) -> Self {
        let client = session.aws.dynamodb();
        let name = session.table.as_str();
        let asker = Asker::new(&session.aws).map_err(|error| one_line(error.as_ref()));
        let table = client.describe_table().table_name(name).send().await;
        let table = table
            .map_err(|error| {
                sdk::failed("the table's description", &error)
                    .what()
                    .to_owned()
            })
            .and_then(|answer| {
                answer
                    .table
                    .ok_or_else(|| "the answer has no table".to_owned())
            });
        let time_to_live = client.describe_time_to_live().table_name(name).send().await;
        let time_to_live = time_to_live
            .map_err(|error| sdk::failed("the time to live", &error).what().to_owned())
            .map(|answer| {
                let described = answer.time_to_live_description?;
                let on = matches!(
                    described.time_to_live_status,
                    Some(TimeToLiveStatus::Enabled | TimeToLiveStatus::Enabling)
                );
                described.attribute_name.filter(|_| on)
            });
        let recovery = client
            .describe_continuous_backups()
            .table_name(name)
            .send()
            .await;
        let recovery = recovery
            .map_err(|error| sdk::failed("the backups", &error).what().to_owned())
            .map(|answer| {
                let described = answer.continuous_backups_description;
                let described =
                    described.and_then(|backups| backups.point_in_time_recovery_description);
                described.and_then(|recovery| recovery.point_in_time_recovery_status)
                    == Some(PointInTimeRecoveryStatus::Enabled)
            });
        let stream = table.as_ref().map_err(Clone::clone);
        let stream = stream.and_then(|table| {
            table
                .latest_stream_arn()
                .ok_or_else(|| "the table has no stream".to_owned())
        });
        let readers = match (&asker, stream) {
            (Ok(asker), Ok(arn)) => mappings(asker, arn).await,
            (Err(why), _) => Err(why.clone()),
            (_, Err(why)) => Err(why),
        };
        let no_stack = || "the stack is not known: pass --stack NAME".to_owned();
        let known = asker
            .as_ref()
            .map_err(Clone::clone)
            .and_then(|asker| stack.map(|stack| (asker, stack)).ok_or_else(no_stack));
        let alarms = match &known {
            Ok((asker, stack)) => alarms(asker, stack).await,
            Err(why) => Err(why.clone()),
        };
        let queues = expected.queues.iter().map(async |queue| {
            let found = match &known {
                Ok((asker, stack)) => {
                    queue_facts(session, asker, &format!("{stack}-{}", queue.name)).await
                }
                Err(why) => Err(why.clone()),
            };
            (queue.name.clone(), found)
        });
        let of_stream = expected
            .mappings
            .iter()
            .filter(|mapping| mapping.queue.is_none());
        let ages = of_stream.map(async |mapping| {
            let age = match &known {
                Ok((asker, stack)) => age(asker, &format!("{stack}-{}", mapping.function)).await,
                Err(why) => Err(why.clone()),
            };
            (mapping.function.clone(), age)
        });
        Self {
            stack: stack.map(str::to_owned),
            redirected: endpoint(&session.aws).is_some(),
            queues: join_all(queues).await.into_iter().collect(),
            ages: join_all(ages).await.into_iter().collect(),
            table,
            time_to_live,
            recovery,
            readers,
            alarms,
        }
    }
}

/// All mappings of a stream or queue.
async fn mappings(asker: &Asker, source_arn: &str) -> Known<Vec<Value>> {
    let mut all = Vec::new();
    let mut marker: Option<String> = None;
    loop {
        let page = asker.mappings(source_arn, marker.as_deref()).await?;
        let found = page.get("EventSourceMappings").and_then(Value::as_array);
        all.extend(
            found
                .ok_or("the answer has no EventSourceMappings")?
                .iter()
                .cloned(),
        );
        marker = page
            .get("NextMarker")
            .and_then(Value::as_str)
            .filter(|marker| !marker.is_empty())
            .map(str::to_owned);
        if marker.is_none() {
            return Ok(all);
        }
    }
}

/// All metric alarms of a stack.
async fn alarms(asker: &Asker, stack: &str) -> Known<Vec<Value>> {
    let mut all = Vec::new();
    let mut token: Option<Value> = None;
    loop {
        let mut input = json!({"AlarmNamePrefix": format!("{stack}-"), "MaxRecords": ALARMS});
        if let (Some(token), Some(members)) = (token, input.as_object_mut()) {
            members.insert("NextToken".to_owned(), token);
        }
        let page = asker.cloudwatch("DescribeAlarms", &input).await?;
        let found = page.get("MetricAlarms").and_then(Value::as_array);
        all.extend(
            found
                .ok_or("the answer has no MetricAlarms")?
                .iter()
                .cloned(),
        );
        token = page
            .get("NextToken")
            .filter(|token| token.as_str().is_some_and(|text| !text.is_empty()))
            .cloned();
        if token.is_none() {
            return Ok(all);
        }
    }
}

/// How far behind a function was lately, at most: the age of the last record of the batches it got.
async fn age(asker: &Asker, function: &str) -> Known<Option<f64>> {
    let now = now().as_millis() / 1000;
    let input = json!({"Namespace": "AWS/Lambda", "MetricName": "IteratorAge", "Dimensions": [{"Name": "FunctionName", "Value": function}],
        "StartTime": now - LOOK_BACK, "EndTime": now, "Period": 60, "Statistics": ["Maximum"]});
    let answer = asker.cloudwatch("GetMetricStatistics", &input).await?;
    let points = answer.get("Datapoints").and_then(Value::as_array);
    let points = points.ok_or("the answer has no Datapoints")?;
    let ages = points
        .iter()
        .filter_map(|point| point.get("Maximum")?.as_f64());
    Ok(ages.reduce(f64::max))
}

async fn queue_facts(session: &Session, asker: &Asker, name: &str) -> Known<Queue> {
    let client = session.aws.sqs();
    let url = client
        .get_queue_url()
        .queue_name(name)
        .send()
        .await
        .map_err(|error| {
            let missing = error
                .as_service_error()
                .is_some_and(|error| error.is_queue_does_not_exist());
            if missing {
                format!("there is no queue {name}")
            } else {
                one_line(&error)
            }
        })?;
    let url = url.queue_url.ok_or("the answer has no URL")?;
    let asked = client
        .get_queue_attributes()
        .queue_url(url)
        .attribute_names(Attribute::All);
    let attributes = asked
        .send()
        .await
        .map_err(|error| one_line(&error))?
        .attributes
        .unwrap_or_default();
    let attributes: BTreeMap<_, _> = attributes
        .into_iter()
        .map(|(name, value)| (name.as_str().to_owned(), value))
        .collect();
    let readers = match attributes.get("QueueArn") {
        Some(arn) => mappings(asker, arn).await,
        None => Err("the queue tells no ARN".to_owned()),
    };
    Ok(Queue {
        attributes,
        readers,
    })
}
