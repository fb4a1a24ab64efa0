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
//! under way at a time. When whole requests fail in a row, or nothing of them is taken, a breaker ends all attempts for a while. What is left is the caller's to defer.
//!
//! # Several targets
//!
//! While an index is replaced, every document goes to several write aliases. The first is the one that is read: only its refusal is a
//! refusal. What any of them did not take for now is sent again later, to all. Each has a breaker of its own.
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
use sagaline_stream::{Budget, chain};
use std::collections::HashMap;
use std::sync::{Arc, PoisonError, RwLock};
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
    targets: RwLock<Vec<Arc<Target>>>,
    permits: Semaphore,
}

/// A write alias.
#[derive(Debug)]
struct Target {
    alias: String,
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
            targets: RwLock::new(vec![Arc::new(Target::new(write_alias.to_owned(), &limits))]),
            permits: Semaphore::new(limits.concurrency.max(1)),
            limits,
        }
    }

    /// Sets the write aliases, the first of which decides what is refused: during a remap there are several. No alias at all changes nothing.
    pub fn set_targets(&self, aliases: Vec<String>) {
        let known = self.targets();
        if aliases.is_empty() || known.iter().map(|target| &target.alias).eq(&aliases) {
            return;
        }
        tracing::info!(?aliases, "search is written to other aliases from now on");
        // Who stays keeps what is known of it.
        let target = |alias: String| match known.iter().find(|target| target.alias == alias) {
            Some(target) => Arc::clone(target),
            None => Arc::new(Target::new(alias, &self.limits)),
        };
        let targets = aliases.into_iter().map(target).collect();
        *self.targets.write().unwrap_or_else(PoisonError::into_inner) = targets;
    }

    fn targets(&self) -> Vec<Arc<Target>> {
        self.targets
            .read()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
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
        let targets = self.targets();
        let mut written = join_all(
            targets
                .iter()
                .map(|target| self.write_to(target, rule, &inputs, deadline)),
        )
        .await
        .into_iter();
        let mut verdicts = written.next().unwrap_or_default();
        for (target, others) in targets.iter().skip(1).zip(written) {
            for ((input, verdict), other) in inputs.iter().zip(&mut verdicts).zip(others) {
                if let SinkVerdict::Refused(reason) = &other {
                    let (order_id, version) = (input.order_id(), input.version());
                    tracing::error!(
                        alias = target.alias,
                        order_id,
                        version,
                        reason,
                        "refused by an index that is not read yet"
                    );
                }
                of_both(verdict, other);
            }
        }
        verdicts
    }

    async fn write_to(
        &self,
        target: &Target,
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
                    items.push(item(at, entry.input, rule, document));
                    sent.insert(at, entry);
                }
            }
            for (at, outcome) in self.deliver(target, items, deadline).await {
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
        target: &Target,
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
            let answers = join_all(
                parts
                    .drain(..)
                    .map(|part| self.call(target, part, deadline)),
            )
            .await;
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
                .filter(|length| Instant::now() + *length < deadline && !target.breaker.is_open());
            let Some(length) = length else {
                tracing::warn!(
                    alias = target.alias,
                    items = failed.len(),
                    reason,
                    "not written to search"
                );
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
    async fn call(
        &self,
        target: &Target,
        part: Vec<Item>,
        deadline: Instant,
    ) -> (Vec<Item>, Answered) {
        let Target { alias, breaker } = target;
        let again = |reason: &str| Answered::Again {
            reason: reason.to_owned(),
        };
        // Held to the end of the request. The semaphore is never closed; were it, the request would go without a permit.
        let permit = timeout_at(deadline, self.permits.acquire()).await;
        if permit.is_err() || Instant::now() >= deadline {
            return (part, again("no time was left to ask search"));
        }
        if !breaker.admits() {
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
        match &answered {
            Answered::Again { .. } => breaker.failed(),
            // A server that takes none of several items, as one whose disk is full, is as much away as one that does not answer.
            Answered::Items(each) if each.len() > 1 && each.iter().all(Outcome::is_retry) => {
                breaker.failed();
            }
            Answered::Items(_) | Answered::Split { .. } => breaker.answered(),
        }
        (part, answered)
    }
}

/// The bodies of the requests that a first sending of these inputs takes: what the sink does before it asks anyone. For measuring.
#[must_use]
pub fn bulk_bodies(inputs: &[SearchInput], limits: &Limits) -> Vec<String> {
    let (mut verdicts, mut items) = (Verdicts::new(), Vec::with_capacity(inputs.len()));
    for (at, order) in plan(inputs).iter_mut().enumerate() {
        if let Some((entry, document)) = order.next(&mut verdicts) {
            items.push(item(at, entry.input, VersionRule::External, document));
        }
    }
    let parts = cut(items, limits.request_bytes, limits.request_items);
    parts.iter().map(|part| body(part)).collect()
}

fn item(at: usize, input: &SearchInput, rule: VersionRule, document: &str) -> Item {
    let id = document_id(input.order_id());
    Item::new(at, id, input.version(), rule, document)
}

impl Target {
    fn new(alias: String, limits: &Limits) -> Self {
        Self {
            alias,
            breaker: Breaker::new(limits.breaker_failures.max(1), limits.breaker_pause),
        }
    }
}

/// The verdict over two targets: what one of them must see again is sent again to both, and what only the other refuses is its own matter.
fn of_both(verdict: &mut SinkVerdict, other: SinkVerdict) {
    let again = matches!(other, SinkVerdict::Retry(_)) && !matches!(verdict, SinkVerdict::Retry(_));
    // One alias may lead to the same index as another, and have had its request there first.
    let first_there = *verdict == SinkVerdict::Stale && other == SinkVerdict::Done;
    if again || first_there {
        *verdict = other;
    }
}
