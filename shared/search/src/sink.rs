//! The index's writer: of each order the newest version, in requests of a bounded size, until every input has its verdict.
//!
//! # How it stays right
//!
//! External versions decide. A document may be sent twice, late, or by two writers at once: the index keeps the highest version, so every
//! unknown outcome is simply sent again. Nothing is left out because it looks equal: the index's version is the proof that it is current.
//!
//! # How it stays polite
//!
//! Only what failed is sent again, after pauses that double and are jittered, within the invocation's budget. A fixed number of requests is
//! under way at a time. When whole requests fail in a row, a breaker ends all attempts for a while. What is left is the caller's to defer.
//!
//! It refuses to know what becomes of an input that was refused or not taken.

use crate::bulk::answer::{Answered, judge};
use crate::bulk::breaker::Breaker;
use crate::bulk::plan::{Outcome, Verdicts, plan};
use crate::bulk::request::{Item, VersionRule, body, cut, halves};
use crate::client::{Body, SearchClient};
use crate::document::{SearchInput, document_id};
use crate::pause::pause;
use backon::{BackoffBuilder as _, ExponentialBuilder};
use futures::future::join_all;
use opensearch::http::Method;
use sagaline_stream::Budget;
use std::collections::HashMap;
use std::sync::{PoisonError, RwLock};
use std::time::Duration;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};

/// What became of an input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SinkVerdict {
    /// The index holds this version.
    Done,
    /// The index held this version or a newer one already.
    Stale,
    /// The index will never hold this version, for this reason: to be parked. An older version of the same write was tried in its place.
    Refused(String),
    /// Not written, for this reason: to be tried again later.
    Retry(String),
    /// Not sent, because the input at that place is of the same order and not older. Stale once that input is settled in any way (done,
    /// stale, parked, deferred); a failure if that one is.
    Behind(usize),
}

/// The sink's bounds.
#[derive(Debug, Clone)]
pub struct Limits {
    /// The bytes of one request. Servers take 10 MiB at the least, and 3 to 5 MiB are best (F-OS-7).
    pub request_bytes: usize,
    /// The items of one request (F-OS-7).
    pub request_items: usize,
    /// How many requests are under way at a time, over all writes.
    pub concurrency: usize,
    /// How often what failed is sent again within one write.
    pub retries: usize,
    /// The pause before the first of them, doubled each time, with jitter.
    pub first_pause: Duration,
    /// The longest pause.
    pub longest_pause: Duration,
    /// The most time a write takes. It also leaves a quarter of the budget to the caller, for deferring what is left.
    pub longest_write: Duration,
    /// How many whole requests in a row must fail for the breaker to open.
    pub breaker_failures: u32,
    /// For how long it opens.
    pub breaker_pause: Duration,
}

impl Default for Limits {
    /// 5 MiB or 1,000 items a request, four at a time; five retries within 20 s; a breaker after 5 failures, for 15 s.
    fn default() -> Self {
        Self {
            request_bytes: 5 * 1024 * 1024,
            request_items: 1_000,
            concurrency: 4,
            retries: 5,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(2),
            longest_write: Duration::from_secs(20),
            breaker_failures: 5,
            breaker_pause: Duration::from_secs(15),
        }
    }
}

/// The index's writer.
#[derive(Debug)]
pub struct SearchSink {
    client: SearchClient,
    limits: Limits,
    targets: RwLock<Vec<String>>,
    permits: Semaphore,
    breaker: Breaker,
}

impl SearchSink {
    /// A writer to that write alias, such as `orders-write`.
    #[must_use]
    pub fn new(client: SearchClient, write_alias: &str) -> Self {
        Self::with_limits(client, write_alias, Limits::default())
    }

    /// A writer with other bounds.
    #[must_use]
    pub fn with_limits(client: SearchClient, write_alias: &str, limits: Limits) -> Self {
        Self {
            client,
            targets: RwLock::new(vec![write_alias.to_owned()]),
            permits: Semaphore::new(limits.concurrency.max(1)),
            breaker: Breaker::new(limits.breaker_failures.max(1), limits.breaker_pause),
            limits,
        }
    }

    /// Sets the write aliases, the first of which decides what is refused: during a remap there are two. No alias at all changes nothing.
    pub fn set_targets(&self, aliases: Vec<String>) {
        if !aliases.is_empty() {
            *self.targets.write().unwrap_or_else(PoisonError::into_inner) = aliases;
        }
    }

    /// Writes inputs; the verdicts are in their order. It ends before the budget does.
    pub async fn write(&self, inputs: Vec<SearchInput>, budget: &Budget) -> Vec<SinkVerdict> {
        self.write_by(VersionRule::External, inputs, budget).await
    }

    /// As [`SearchSink::write`], under another rule than that of the stream.
    pub(crate) async fn write_by(
        &self,
        rule: VersionRule,
        inputs: Vec<SearchInput>,
        budget: &Budget,
    ) -> Vec<SinkVerdict> {
        let deadline = Instant::now() + (budget.remaining() * 3 / 4).min(self.limits.longest_write);
        let targets = self
            .targets
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone();
        let written = join_all(
            targets
                .iter()
                .map(|alias| self.write_to(alias, rule, &inputs, deadline)),
        )
        .await;
        let merge = |first: Vec<SinkVerdict>, other| {
            first
                .into_iter()
                .zip(other)
                .map(|(first, other)| of_both(first, other))
                .collect()
        };
        written.into_iter().reduce(merge).unwrap_or_default()
    }

    async fn write_to(
        &self,
        alias: &str,
        rule: VersionRule,
        inputs: &[SearchInput],
        deadline: Instant,
    ) -> Vec<SinkVerdict> {
        let mut verdicts = Verdicts::with_capacity(inputs.len());
        let mut orders = plan(inputs);
        // A second round only for orders whose newest version was refused, to send the next older one.
        while !orders.is_empty() {
            let mut sent = HashMap::new();
            let mut items = Vec::new();
            for (at, order) in orders.iter_mut().enumerate() {
                if let Some((entry, document)) = order.next(&mut verdicts) {
                    let input = entry.input;
                    items.push(Item::new(
                        at,
                        document_id(input.order_id()),
                        input.version(),
                        rule,
                        document,
                    ));
                    sent.insert(at, entry);
                }
            }
            for (at, outcome) in self.deliver(alias, items, deadline).await {
                if let (Some(order), Some(entry)) = (orders.get_mut(at), sent.get(&at)) {
                    order.settle(*entry, outcome, &mut verdicts);
                }
            }
            orders.retain(|order| !order.is_settled());
        }
        verdicts.sort_unstable_by_key(|(place, _)| *place);
        verdicts.into_iter().map(|(_, verdict)| verdict).collect()
    }

    /// Sends items until each has an outcome, or the patience ends. Outcomes come in any order, each with its item's `at`.
    async fn deliver(
        &self,
        alias: &str,
        items: Vec<Item>,
        deadline: Instant,
    ) -> Vec<(usize, Outcome)> {
        let limits = &self.limits;
        let mut pauses = ExponentialBuilder::new()
            .with_min_delay(limits.first_pause)
            .with_max_delay(limits.longest_pause)
            .with_max_times(limits.retries)
            .with_jitter()
            .build();
        let mut outcomes = Vec::with_capacity(items.len());
        let mut failed: Vec<(Item, String)> = Vec::new();
        let mut parts = cut(items, limits.request_bytes, limits.request_items);
        loop {
            let answers =
                join_all(parts.drain(..).map(|part| self.call(alias, part, deadline))).await;
            for (part, answered) in answers {
                match answered {
                    Answered::Items(each) => {
                        for (item, outcome) in part.into_iter().zip(each) {
                            match outcome {
                                Outcome::Retry(reason) => failed.push((item, reason)),
                                Outcome::Done | Outcome::Stale | Outcome::Refused(_) => {
                                    outcomes.push((item.at, outcome))
                                }
                            }
                        }
                    }
                    Answered::Split { .. } if part.len() > 1 => parts.extend(halves(part)),
                    Answered::Split { alone } => {
                        outcomes.extend(part.into_iter().map(|item| (item.at, alone.clone())))
                    }
                    Answered::Again { reason } => {
                        failed.extend(part.into_iter().map(|item| (item, reason.clone())))
                    }
                }
            }
            if !parts.is_empty() {
                continue;
            }
            let Some((_, reason)) = failed.first() else {
                return outcomes;
            };
            let length = pauses
                .next()
                .filter(|length| Instant::now() + *length < deadline && !self.breaker.is_open());
            let Some(length) = length else {
                tracing::warn!(alias, items = failed.len(), reason, "not written to search");
                outcomes.extend(
                    failed
                        .into_iter()
                        .map(|(item, reason)| (item.at, Outcome::Retry(reason))),
                );
                return outcomes;
            };
            pause(length).await;
            failed.sort_unstable_by_key(|(item, _)| item.at);
            parts = cut(
                failed.drain(..).map(|(item, _)| item),
                limits.request_bytes,
                limits.request_items,
            );
        }
    }

    /// One request.
    async fn call(&self, alias: &str, part: Vec<Item>, deadline: Instant) -> (Vec<Item>, Answered) {
        let again = |reason: &str| Answered::Again {
            reason: reason.to_owned(),
        };
        // Held to the end of the request. The semaphore is never closed; were it, the request would go without a permit.
        let permit = timeout_at(deadline, self.permits.acquire()).await;
        if permit.is_err() || Instant::now() >= deadline {
            return (part, again("no time was left to ask search"));
        }
        if !self.breaker.admits() {
            return (
                part,
                again("search is not asked for a while: its last requests failed"),
            );
        }
        let path = format!("/{alias}/_bulk?require_alias=true");
        let asked = self
            .client
            .send(Method::Post, &path, Some(Body::lines(body(&part))));
        let answered = match timeout_at(deadline, asked).await {
            Ok(Ok(answer)) => {
                if matches!(answer.status, 401 | 403 | 404) {
                    let body = String::from_utf8_lossy(&answer.body);
                    tracing::error!(alias, status = answer.status, %body, "search refuses every request: check its configuration");
                }
                judge(
                    alias,
                    answer.status,
                    &answer.body,
                    part.iter().map(|item| item.id.as_str()),
                )
            }
            Ok(Err(error)) => again(&chain(&error)),
            Err(_) => again("search did not answer in time"),
        };
        match answered {
            Answered::Again { .. } => self.breaker.failed(),
            Answered::Items(_) | Answered::Split { .. } => self.breaker.answered(),
        }
        (part, answered)
    }
}

/// The verdict over two targets: what one of them must see again is sent again to both, and what only the second refuses is its own matter.
fn of_both(first: SinkVerdict, second: SinkVerdict) -> SinkVerdict {
    if let SinkVerdict::Refused(reason) = &second {
        tracing::error!(reason, "refused by the second target");
    }
    if matches!(first, SinkVerdict::Retry(_)) || !matches!(second, SinkVerdict::Retry(_)) {
        first
    } else {
        second
    }
}

/// An error and its causes in one line.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}
