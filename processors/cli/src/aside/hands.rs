//! The handlers, wired when the first piece needs them: what a redrive of one sink does not use need not be configured.

use super::budget::{PIECE, budget, invocation};
use super::piece::{Content, Piece, Who};
use crate::args::Global;
use crate::commands::{phone, search};
use crate::error::{Code, CommandError};
use crate::session::{Clock, Session, vars};
use sagaline_archive::{AwsTarget, Redaction, Row};
use sagaline_lambda::ParkBucket;
use sagaline_lambda::config::{ArchiveVars, SearchVars, park_bucket, saga_targets};
use sagaline_order::OrderId;
use sagaline_saga::{
    DriveError, Driven, Driver, Driving, EventBridge, HttpGateway, OrderRecords, Path, Recorder,
};
use sagaline_search::{SearchInput, SearchMessage};
use sagaline_sinks::{Archive, Ours, Search, ours};
use sagaline_store::{DynamoTable, HEAD_SK};
use sagaline_stream::{
    Batch, Budget, Ending, Engine, Failure, InvocationError, MemoryParking, Outcome, Record,
    RecordHandler, Verdict, combine,
};
use serde_json::Value;
use std::time::Duration;
use tokio::sync::OnceCell;
use tokio::time::Instant;

type Saga = Driver<DynamoTable, Clock, HttpGateway, EventBridge>;

/// The same drive as the saga processor's, at an operator's word and with an operator's patience.
struct ByOperator(Saga);

impl Driving for ByOperator {
    fn drive(
        &self,
        order_id: &OrderId,
        until: Instant,
    ) -> impl Future<Output = Result<Driven, DriveError>> + Send {
        self.0.drive(order_id, Path::Operator, until)
    }
}

/// How a piece ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Ended {
    pub(crate) ending: Ending,
    pub(crate) why: Option<String>,
}

impl Ended {
    fn of(result: Result<Verdict, Failure>) -> Self {
        match result {
            Ok(verdict) => Self {
                ending: verdict.into(),
                why: None,
            },
            Err(failure) => Self {
                ending: match failure.disposition() {
                    sagaline_stream::Disposition::Poison => Ending::Parked,
                    sagaline_stream::Disposition::Retry | sagaline_stream::Disposition::Fatal => {
                        Ending::Failed
                    }
                },
                why: Some(failure.chain()),
            },
        }
    }
}

/// The handlers of the processors.
pub(crate) struct Hands<'g> {
    global: &'g Global,
    session: Session,
    saga: OnceCell<OrderRecords<ByOperator>>,
    search: OnceCell<Search<DynamoTable>>,
    archive: OnceCell<(Archive<AwsTarget>, Redaction)>,
}

impl<'g> Hands<'g> {
    pub(crate) async fn open(global: &'g Global) -> Result<Self, CommandError> {
        Ok(Self {
            global,
            session: Session::open(global).await?,
            saga: OnceCell::new(),
            search: OnceCell::new(),
            archive: OnceCell::new(),
        })
    }

    pub(crate) const fn session(&self) -> &Session {
        &self.session
    }

    /// Does a piece of work. What is wrong with the configuration is an error; what is wrong with the piece is its ending.
    pub(crate) async fn take(&self, piece: &Piece) -> Result<Ended, CommandError> {
        match (&piece.content, piece.who) {
            (Content::Message(body), Who::Search) => {
                Ok(Ended::of(self.search_message(body).await?))
            }
            (Content::Message(body), Who::Archive) => {
                Ok(Ended::of(self.archive_message(body).await?))
            }
            (Content::Message(_), Who::Saga | Who::Projector) => Ok(Ended::of(Err(
                Failure::poison("a message of a retry queue is for search or the archive"),
            ))),
            (Content::Record(raw), Who::Projector) => {
                let search = self.record(Who::Search, raw).await?;
                let archive = self.record(Who::Archive, raw).await?;
                Ok(both(search, archive))
            }
            (Content::Record(raw), who) => self.record(who, raw).await,
        }
    }

    /// Feeds a whole batch to one handler.
    pub(crate) async fn feed(
        &self,
        who: Who,
        batch: &Batch<'_>,
        time: Duration,
    ) -> Result<Result<Outcome, InvocationError>, CommandError> {
        let hand = Hand {
            saga: match who {
                Who::Saga => Some(self.saga().await?),
                Who::Projector | Who::Search | Who::Archive => None,
            },
            search: match who {
                Who::Search | Who::Projector => Some(self.search().await?),
                Who::Saga | Who::Archive => None,
            },
            archive: match who {
                Who::Archive | Who::Projector => Some(self.archive().await?),
                Who::Saga | Who::Search => None,
            },
        };
        // What is refused again stays where it is: nothing is parked twice.
        let engine = Engine::new(who.as_str(), MemoryParking::default());
        Ok(Box::pin(engine.run(batch, &hand, &invocation(time))).await)
    }

    /// One record through its handler. What the handler can make nothing of, but names an order, still has the order looked at.
    async fn record(&self, who: Who, raw: &str) -> Result<Ended, CommandError> {
        let event = format!("{{\"Records\":[{raw}]}}");
        let ended = match Batch::parse(event.as_bytes()) {
            Ok(batch) if batch.len() == 1 => match self.feed(who, &batch, PIECE).await? {
                Ok(outcome) => first(&outcome.report),
                Err(error) => error
                    .report()
                    .map_or_else(|| Ended::of(Err(Failure::retry(error.to_string()))), first),
            },
            Ok(_) | Err(_) => Ended::of(Err(Failure::poison("not the text of one record"))),
        };
        if ended.ending != Ending::Parked {
            return Ok(ended);
        }
        let Some(order_id) = order_named(raw) else {
            return Ok(ended);
        };
        let budget = budget();
        let instead = match who {
            Who::Saga => self.saga().await?.drive(&order_id, &budget).await,
            Who::Search => {
                let message = SearchMessage {
                    order_id: order_id.to_string(),
                    version: 0,
                    deleted: false,
                };
                self.search().await?.refresh(&message, &budget).await
            }
            // A row is made of the record itself.
            Who::Archive | Who::Projector => return Ok(ended),
        };
        let instead = Ended::of(instead);
        let said = ended.why.unwrap_or_default();
        Ok(Ended {
            why: Some(match instead.why {
                Some(why) => why,
                None => format!("by the head of order {order_id}; the record itself: {said}"),
            }),
            ..instead
        })
    }

    async fn search_message(&self, body: &str) -> Result<Result<Verdict, Failure>, CommandError> {
        let search = self.search().await?;
        Ok(match SearchMessage::parse(body) {
            Ok(message) => search.refresh(&message, &budget()).await,
            Err(error) => Err(Failure::poison("not a message for search").because(error)),
        })
    }

    async fn archive_message(&self, body: &str) -> Result<Result<Verdict, Failure>, CommandError> {
        let (archive, _) = self.archive().await?;
        Ok(match archive.resolve(body).await {
            Ok(row) => archive.put(row, &budget()).await,
            Err(failure) => Err(failure),
        })
    }

    async fn saga(&self) -> Result<&OrderRecords<ByOperator>, CommandError> {
        self.saga
            .get_or_try_init(async || {
                let (payment_url, event_bus) = saga_targets(&vars())?;
                let gateway = HttpGateway::new(payment_url).map_err(|error| {
                    CommandError::new(Code::BadConfiguration, format!("PAYMENT_URL: {error}"))
                })?;
                let aws = &self.session.aws;
                let bus = EventBridge::new(aws_sdk_eventbridge::Client::new(aws.sdk()), event_bus);
                let recorder =
                    Recorder::new(self.session.another_store(), sagaline_lambda::now as Clock);
                Ok(OrderRecords::new(ByOperator(Driver::new(
                    recorder, gateway, bus,
                ))))
            })
            .await
    }

    async fn search(&self) -> Result<&Search<DynamoTable>, CommandError> {
        self.search
            .get_or_try_init(async || {
                let vars = SearchVars::read(&vars())?;
                let client = search::client(&vars, self.global).await?;
                Ok(sagaline_sinks::search(
                    &vars,
                    client,
                    &self.session.aws,
                    &self.session.table,
                ))
            })
            .await
    }

    async fn archive(&self) -> Result<&(Archive<AwsTarget>, Redaction), CommandError> {
        self.archive
            .get_or_try_init(async || {
                let vars = vars();
                let bucket = park_bucket(&vars)?;
                let archive = ArchiveVars::read(&vars)?;
                let aws = &self.session.aws;
                let keys = phone::keys(&vars, aws).await?;
                let bucket = ParkBucket::new(aws.s3(), bucket);
                Ok((
                    sagaline_sinks::archive(&archive, bucket, aws),
                    Redaction::new(&archive.redact, keys),
                ))
            })
            .await
    }
}

/// A handler of records.
struct Hand<'h> {
    saga: Option<&'h OrderRecords<ByOperator>>,
    search: Option<&'h Search<DynamoTable>>,
    archive: Option<&'h (Archive<AwsTarget>, Redaction)>,
}

impl RecordHandler for Hand<'_> {
    async fn handle(&self, record: &Record<'_>, budget: &Budget) -> Result<Verdict, Failure> {
        if let Some(saga) = self.saga {
            return saga.handle(record, budget).await;
        }
        if ours(record)? != Ours::Yes {
            return Ok(Verdict::Skipped);
        }
        let search = async {
            match self.search {
                Some(search) => {
                    let message = SearchInput::from_record(record)?.message();
                    search.refresh(&message, budget).await
                }
                None => Ok(Verdict::Skipped),
            }
        };
        let archive = async {
            match self.archive {
                Some((archive, redaction)) => {
                    let row = Row::from_record(record, redaction)?;
                    archive.put(row, budget).await
                }
                None => Ok(Verdict::Skipped),
            }
        };
        let (search, archive) = futures::join!(search, archive);
        combine(search, archive)
    }
}

/// The order that a record's keys name, however broken the rest of it is; heads only.
pub(super) fn order_named(raw: &str) -> Option<OrderId> {
    let value: Value = serde_json::from_str(raw).ok()?;
    let key = |name: &str| value.pointer(&format!("/dynamodb/Keys/{name}/S"))?.as_str();
    if key("SK")? != HEAD_SK {
        return None;
    }
    key("PK")?.strip_prefix("ORDER#").map(OrderId::stored)
}

fn first(report: &sagaline_stream::Report) -> Ended {
    match report.handled.first() {
        Some(handled) => Ended {
            ending: handled.ending,
            why: handled.why.clone(),
        },
        None => Ended::of(Err(Failure::retry("the engine gave no verdict"))),
    }
}

/// Of two sinks the graver ending, and what each said.
fn both(search: Ended, archive: Ended) -> Ended {
    let grave = |ending| match ending {
        Ending::Failed => 0,
        Ending::Parked => 1,
        Ending::Deferred => 2,
        Ending::Stale => 3,
        Ending::Done => 4,
        Ending::Skipped => 5,
    };
    let say = |ended: &Ended| match &ended.why {
        Some(why) => format!("{} ({why})", ended.ending),
        None => ended.ending.to_string(),
    };
    let why = format!("search: {}; archive: {}", say(&search), say(&archive));
    Ended {
        ending: if grave(search.ending) <= grave(archive.ending) {
            search.ending
        } else {
            archive.ending
        },
        why: Some(why),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_broken_record_still_names_its_order_and_only_a_head_does() {
        let raw = |sk: &str| {
            format!(
                r#"{{"eventName":"UPSERT","dynamodb":{{"Keys":{{"PK":{{"S":"ORDER#o-2"}},"SK":{{"S":"{sk}"}}}},"NewImage":{{"x":{{}}}}}}}}"#
            )
        };
        assert_eq!(
            order_named(&raw("ORDER#DETAIL")),
            Some(OrderId::stored("o-2"))
        );
        assert_eq!(order_named(&raw("HISTORY#0000000001")), None);
        assert_eq!(order_named("{\"eventID\":tru}"), None);
    }

    #[test]
    fn of_two_sinks_the_graver_ending_stands_and_both_are_told() {
        let ended = |ending, why: Option<&str>| Ended {
            ending,
            why: why.map(str::to_owned),
        };
        let both = both(
            ended(Ending::Done, None),
            ended(Ending::Parked, Some("no version")),
        );
        assert_eq!(
            both,
            ended(
                Ending::Parked,
                Some("search: done; archive: parked (no version)")
            )
        );
    }
}
