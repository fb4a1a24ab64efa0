//! Filling an index from the table while live writes go on.
//!
//! Every head is written with its own version, as the stream writes it: what the stream has brought meanwhile is newer or equal, and stays. So
//! a backfill can run at any time, twice, or be killed and taken up again where its [`State`] says.

use crate::bulk::request::VersionRule;
use crate::document::SearchInput;
use crate::pause::pause;
use crate::sink::{SearchSink, SinkVerdict};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnConsumedCapacity};
use futures::stream::{FuturesUnordered, StreamExt as _};
use sagaline_stream::{BoxError, Budget, EpochMillis, Invocation, Limits, Remaining};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::future::Future;
use std::time::Duration;
use thiserror::Error;

/// The sort key of a head.
const HEAD_SORT_KEY: &str = "ORDER#DETAIL";

/// How long one page may take to be written. A page that is not written then ends the backfill, which can be taken up again.
const PAGE_TIME: Duration = Duration::from_secs(120);

/// How far a backfill is. Kept in a file, it can be taken up again.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct State {
    /// The parts of the table, scanned beside each other.
    pub segments: Vec<Segment>,
}

/// One part of the table.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Segment {
    /// Its number, from 0.
    pub number: u32,
    /// The key after which to go on.
    pub after: Option<Key>,
    /// Whether it is at its end.
    pub finished: bool,
}

/// The key of an item.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Key {
    /// The partition key.
    pub pk: String,
    /// The sort key.
    pub sk: String,
}

impl State {
    /// The beginning of a scan in so many parts.
    #[must_use]
    pub fn new(segments: u32) -> Self {
        Self {
            segments: (0..segments.max(1))
                .map(|number| Segment {
                    number,
                    after: None,
                    finished: false,
                })
                .collect(),
        }
    }
}

/// A page of the table.
#[derive(Debug, Clone, Default)]
pub struct ScannedPage {
    /// The heads on it; a page may have none and not be the last.
    pub heads: Vec<HashMap<String, AttributeValue>>,
    /// The items that were looked at for them.
    pub scanned: u64,
    /// Where the next page begins; `None` at the end of the segment.
    pub next: Option<Key>,
    /// The read units that it cost.
    pub consumed_units: f64,
}

/// What was done so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Heads that were read.
    pub heads: u64,
    /// Documents that were written.
    pub written: u64,
    /// Documents that were there already, in this version or a newer one.
    pub current: u64,
    /// Heads that the index will never hold, each with its reason. They are not parked: they are in the table.
    pub refused: Vec<String>,
}

/// Why a backfill stopped. Its state says where to go on.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BackfillError {
    /// A page could not be read.
    #[error("a page of the table could not be read")]
    Scan(#[source] BoxError),
    /// A page could not be written in time.
    #[error("{count} documents could not be written: {reason}")]
    Write {
        /// How many.
        count: usize,
        /// Why, of the first one.
        reason: String,
    },
}

/// Reads a page of heads, strongly consistent, from a segment of `segments`.
///
/// # Errors
/// The client's error.
pub async fn scan_page(
    client: &Client,
    table: &str,
    segments: u32,
    segment: &Segment,
) -> Result<ScannedPage, BoxError> {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let start = segment.after.as_ref().map(|key| {
        HashMap::from([
            ("PK".to_owned(), text(&key.pk)),
            ("SK".to_owned(), text(&key.sk)),
        ])
    });
    let scan = client
        .scan()
        .table_name(table)
        .consistent_read(true)
        .total_segments(i32::try_from(segments)?)
        .segment(i32::try_from(segment.number)?)
        .filter_expression("SK = :head")
        .expression_attribute_values(":head", text(HEAD_SORT_KEY))
        .return_consumed_capacity(ReturnConsumedCapacity::Total)
        .set_exclusive_start_key(start);
    let answer = scan.send().await?;
    let part = |key: &HashMap<String, AttributeValue>, name: &str| {
        key.get(name).and_then(|value| value.as_s().ok()).cloned()
    };
    let next = match answer.last_evaluated_key() {
        Some(key) => {
            let (pk, sk) = part(key, "PK")
                .zip(part(key, "SK"))
                .ok_or("the page ends with a key that is no text")?;
            Some(Key { pk, sk })
        }
        None => None,
    };
    let consumed_units = answer
        .consumed_capacity()
        .and_then(|capacity| capacity.capacity_units())
        .unwrap_or_default();
    Ok(ScannedPage {
        scanned: u64::try_from(answer.scanned_count()).unwrap_or_default(),
        heads: answer.items.unwrap_or_default(),
        next,
        consumed_units,
    })
}

/// Writes every head that `pages` gives, all segments beside each other. `on_page` hears after each page how far it is, with nothing in
/// `state` that is not written. `max_units` limits the read units a second, of all segments together.
///
/// # Errors
/// [`BackfillError`]. What `on_page` saw last is where to go on.
pub async fn backfill<F>(
    sink: &SearchSink,
    state: &mut State,
    max_units: Option<f64>,
    pages: impl Fn(Segment) -> F,
    mut on_page: impl FnMut(&State, &Tally),
) -> Result<Tally, BackfillError>
where
    F: Future<Output = Result<ScannedPage, BoxError>>,
{
    let mut tally = Tally::default();
    let lanes = state.segments.len();
    let one = |segment: Segment| {
        let page = pages(segment.clone());
        async move {
            let page = page.await.map_err(BackfillError::Scan)?;
            let (next, units) = (page.next.clone(), page.consumed_units);
            let part = write(sink, page).await?;
            if let Some(max) = max_units.filter(|max| *max > 0.0)
                && let Some(share) = u32::try_from(lanes)
                    .ok()
                    .map(|lanes| max / f64::from(lanes))
            {
                pause(Duration::try_from_secs_f64(units / share).unwrap_or(PAGE_TIME)).await;
            }
            Ok::<_, BackfillError>((
                Segment {
                    finished: next.is_none(),
                    after: next,
                    ..segment
                },
                part,
            ))
        }
    };
    let mut under_way: FuturesUnordered<_> = state
        .segments
        .iter()
        .filter(|segment| !segment.finished)
        .cloned()
        .map(&one)
        .collect();
    while let Some(done) = under_way.next().await {
        let (segment, part) = done?;
        tally.add(part);
        if let Some(stored) = state
            .segments
            .iter_mut()
            .find(|stored| stored.number == segment.number)
        {
            *stored = segment.clone();
        }
        on_page(state, &tally);
        if !segment.finished {
            under_way.push(one(segment));
        }
    }
    Ok(tally)
}

async fn write(sink: &SearchSink, page: ScannedPage) -> Result<Tally, BackfillError> {
    let mut tally = Tally {
        heads: u64::try_from(page.heads.len()).unwrap_or(u64::MAX),
        ..Tally::default()
    };
    let mut waiting = Vec::with_capacity(page.heads.len());
    for head in &page.heads {
        match SearchInput::from_item(head) {
            Ok(input) => waiting.push(input),
            Err(failure) => tally
                .refused
                .push(format!("{}: {}", name_of(head), failure.chain())),
        }
    }
    let mut late = Vec::new();
    for (input, verdict) in write_out(sink, VersionRule::External, waiting).await {
        match verdict {
            SinkVerdict::Done => tally.written += 1,
            SinkVerdict::Stale => tally.current += 1,
            SinkVerdict::Refused(reason) => tally
                .refused
                .push(format!("{}: {reason}", input.order_id())),
            SinkVerdict::Retry(reason) => late.push(reason),
            SinkVerdict::Behind(_) => late.push(String::new()),
        }
    }
    let count = late.len();
    match late.into_iter().find(|reason| !reason.is_empty()) {
        None if count == 0 => Ok(tally),
        reason => Err(BackfillError::Write {
            count,
            reason: reason.unwrap_or_default(),
        }),
    }
}

/// Writes inputs, each of another order, until every one has a verdict that lasts or the time of a page is over.
pub(crate) async fn write_out(
    sink: &SearchSink,
    rule: VersionRule,
    mut waiting: Vec<SearchInput>,
) -> Vec<(SearchInput, SinkVerdict)> {
    let budget = page_budget();
    let mut settled = Vec::with_capacity(waiting.len());
    while !waiting.is_empty() {
        let verdicts = sink.write_by(rule, waiting.clone(), &budget).await;
        let written = waiting.into_iter().zip(verdicts);
        let (again, done): (Vec<_>, Vec<_>) = written.partition(|(_, verdict)| {
            matches!(verdict, SinkVerdict::Retry(_) | SinkVerdict::Behind(_))
        });
        settled.extend(done);
        if budget.is_over() {
            settled.extend(again);
            return settled;
        }
        waiting = again.into_iter().map(|(input, _)| input).collect();
        if !waiting.is_empty() {
            // The sink has paused and given up, or its breaker is open: it will not be for long.
            pause(Duration::from_secs(1).min(budget.remaining())).await;
        }
    }
    settled
}

/// No invocation: a page has a fixed time.
fn page_budget() -> Budget {
    let invocation = Invocation {
        function: "backfill".to_owned(),
        request_id: String::new(),
        received_at: EpochMillis::new(0),
        remaining: Remaining::Known(PAGE_TIME),
    };
    Budget::start(
        &invocation,
        &Limits {
            margin: Duration::ZERO,
            ..Limits::default()
        },
    )
}

pub(crate) fn name_of(head: &HashMap<String, AttributeValue>) -> &str {
    head.get("PK")
        .and_then(|key| key.as_s().ok())
        .map_or("an item without a key", String::as_str)
}

impl Tally {
    fn add(&mut self, part: Self) {
        self.heads += part.heads;
        self.written += part.written;
        self.current += part.current;
        self.refused.extend(part.refused);
    }
}
