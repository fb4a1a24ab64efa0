//! `sagaline archive verify`: whether the changes of a day are all there and fit.
//!
//! Two sides are looked at. The archive's own rows come in the order of orders and versions, one at a time, each with its neighbour: a gap
//! between two versions, or an image that does not fit, shows there. What is missing at an order's end only the table can tell: the head says
//! which version is the last, the history when each was made. Orders that the table wrote last on that day and the archive never heard of are
//! found in the index `by_updated`.
//!
//! Memory: a row, the heads that are being read, sixteen bytes for each order of the day, and the findings up to a limit.

mod findings;

pub(super) use findings::Findings;

use super::place::{Place, Watch};
use super::repair;
use crate::args::Global;
use crate::aside::store::day;
use crate::error::{Code, CommandError};
use crate::session::Session;
use clap::Args;
use findings::Kind;
use futures::stream::{self, StreamExt as _};
use sagaline_archive::Archive;
use sagaline_archive::verify::{BadAnswer, Fit, Neighbours, select, select_newest};
use sagaline_lambda::now;
use sagaline_order::{OrderId, Seconds, Timestamp};
use sagaline_search::image_of;
use sagaline_store::{DynamoTable, Store};
use sha2::{Digest as _, Sha256};
use std::collections::HashSet;
use std::ops::RangeInclusive;
use std::pin::pin;

/// Heads that are read at the same time.
const CONCURRENT: usize = 16;
/// Orders whose heads are read together.
const ORDERS: usize = 200;
/// Pages of the table's list and of histories.
const PAGE: u32 = 200;
/// Of one gap, so many versions are named.
const GAP: i64 = 1_000;

/// Checks every order that changed on that day: no version missing, each fits to the one before it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline archive verify --date 2026-01-31
  sagaline archive verify --date 2026-01-31 --repair
  sagaline archive verify --date 2026-01-31 --json

missing        a version that the table or its neighbours know of, and the archive does not
broken         what a version found is not what the version before it left
unverifiable   the same, but for values that are hidden with another key or in another set: no error
on its way     missing, but younger than --grace: Firehose gathers rows for some minutes

--repair writes missing rows again from what was put aside in PARK_BUCKET (parked/, spill/archive/, aws/lambda/), and from nothing else. The
whole archive's rows of these orders are read: Athena bills for it. Exit code 1 if something is missing or broken.")]
pub(super) struct Verify {
    /// The UTC day.
    #[arg(long, value_name = "DAY", value_parser = day)]
    date: String,
    /// Write missing rows again from what was put aside.
    #[arg(long)]
    repair: bool,
    /// Changes that are younger may still be on their way.
    #[arg(long, value_name = "MINUTES", default_value_t = 15)]
    grace: u32,
}

impl Verify {
    pub(super) async fn run(self, place: &Place, global: &Global) -> Result<(), CommandError> {
        let session = Session::open(global).await?;
        let archive = place.open(global).await?;
        let watch = Watch::new();
        let settled = Timestamp::from_millis(now().as_millis() - i64::from(self.grace) * 60_000);
        let mut check = Check {
            archive: &archive,
            store: &session.store,
            day: &self.date,
            settled: settled.unwrap_or_else(now),
            seen: HashSet::new(),
            findings: Findings::new(&self.date),
        };
        let checked = check.run(&watch).await;
        let mut findings = check.findings;
        findings.whole &= checked.is_ok();
        let repaired = if self.repair && findings.has_missing() {
            watch.say("repairing".to_owned());
            repair::run(&mut findings, &session).await
        } else {
            Ok(())
        };
        drop(watch);
        // What was found stands, whatever came then.
        findings.tell(global.json);
        checked?;
        repaired?;
        match findings.left() {
            0 if findings.whole => Ok(()),
            0 => Err(CommandError::new(
                Code::CheckFailed,
                "there is more than can be looked at in one run",
            )
            .advise(
                "look why the archive got nothing that day: the alarms of its stream and queues",
            )),
            left => Err(CommandError::new(
                Code::CheckFailed,
                format!("{left} changes of {} are missing or do not fit", self.date),
            )
            .advise(if self.repair {
                "what is left was not put aside: read the lines above"
            } else {
                "read the lines above; --repair writes again what was put aside"
            })),
        }
    }
}

/// An order and the newest version that the archive has of it.
struct End {
    order_id: String,
    newest: i64,
    removed: bool,
}

struct Check<'c> {
    archive: &'c Archive,
    store: &'c Store<DynamoTable>,
    day: &'c str,
    /// What is older must be there.
    settled: Timestamp,
    /// The orders that the archive has changes of on that day, each as the beginning of its hash.
    seen: HashSet<u128>,
    findings: Findings,
}

impl Check<'_> {
    async fn run(&mut self, watch: &Watch) -> Result<(), CommandError> {
        self.rows(watch).await?;
        self.listed(watch).await
    }

    /// The archive's rows of the day.
    async fn rows(&mut self, watch: &Watch) -> Result<(), CommandError> {
        let mut answer = self.archive.ask(&select(self.day), watch.query()).await?;
        let mut ends = Vec::new();
        while let Some(page) = answer.next_page().await? {
            for row in page {
                let row = Neighbours::read(row).map_err(bad_answer)?;
                self.row(&row).await?;
                if row.is_last {
                    self.seen.insert(fingerprint(&row.order_id));
                    self.findings.orders += 1;
                    // A later version tells of a gap by itself, in the check of its own day.
                    if row.newest == row.version {
                        ends.push(End {
                            removed: row.is_removal(),
                            newest: row.newest,
                            order_id: row.order_id,
                        });
                    }
                }
                if ends.len() >= ORDERS {
                    self.ends(std::mem::take(&mut ends)).await?;
                }
            }
            watch.say(format!("{} rows compared", self.findings.rows));
        }
        self.ends(ends).await
    }

    async fn row(&mut self, row: &Neighbours) -> Result<(), CommandError> {
        self.findings.rows += 1;
        let looked = row.look();
        if let Some(missing) = looked.missing {
            self.missing(&row.order_id, missing, None).await?;
        }
        match looked.fit {
            Fit::First => {}
            Fit::Whole => self.findings.fitting += 1,
            Fit::Unverifiable(why) => {
                self.findings
                    .add(Kind::Unverifiable, &row.order_id, row.version, None, why);
            }
            Fit::Broken(why) => {
                self.findings
                    .add(Kind::Broken, &row.order_id, row.version, None, why);
            }
        }
        Ok(())
    }

    /// The orders that the table wrote last on that day and the archive has no change of on that day.
    async fn listed(&mut self, watch: &Watch) -> Result<(), CommandError> {
        let midnight = |day: &str| Timestamp::parse(&format!("{day}T00:00:00Z"));
        let Some(from) = midnight(self.day) else {
            return Ok(());
        };
        let until = from.plus(Seconds(24 * 60 * 60));
        let (mut listed, mut unheard) = (0_u64, Vec::new());
        let mut rows = pin!(self.store.updated(from, until).page_size(PAGE).stream());
        while let Some(row) = rows.next().await {
            let order_id = row?.order_id.to_string();
            listed += 1;
            if listed.is_multiple_of(u64::from(PAGE)) {
                watch.say(format!("{listed} orders of the table compared"));
            }
            if !self.seen.contains(&fingerprint(&order_id)) {
                unheard.push(order_id);
            }
            if unheard.len() >= ORDERS {
                self.unheard(std::mem::take(&mut unheard)).await?;
                if self.findings.is_full() {
                    self.findings.whole = false;
                    return Ok(());
                }
            }
        }
        self.unheard(unheard).await
    }

    /// A row may lie in the day before or after: the record has whole seconds, the head the time of its writer.
    async fn unheard(&mut self, orders: Vec<String>) -> Result<(), CommandError> {
        if orders.is_empty() {
            return Ok(());
        }
        let mut answer = self.archive.ask(&select_newest(&orders), |_| {}).await?;
        let mut ends: Vec<End> = orders
            .into_iter()
            .map(|order_id| End {
                order_id,
                newest: 0,
                removed: false,
            })
            .collect();
        while let Some(page) = answer.next_page().await? {
            for row in page {
                let mut columns = row.into_iter().flatten();
                let (Some(order_id), Some(newest)) = (columns.next(), columns.next()) else {
                    continue;
                };
                let newest = newest
                    .parse()
                    .map_err(|_| bad_answer(BadAnswer { column: "newest" }))?;
                if let Some(end) = ends.iter_mut().find(|end| end.order_id == order_id) {
                    end.newest = newest;
                }
            }
        }
        self.findings.orders += u64::try_from(ends.len()).unwrap_or_default();
        self.ends(ends).await
    }

    /// Compares the newest versions with the heads.
    async fn ends(&mut self, ends: Vec<End>) -> Result<(), CommandError> {
        let store = self.store;
        let head = |end: End| async move {
            let head = store.load_item(&OrderId::stored(&end.order_id)).await;
            head.map(|head| {
                let version = head
                    .as_ref()
                    .map(|head| image_of(head).n_i64("version").and_then(Result::ok));
                (end, version)
            })
        };
        let mut heads = stream::iter(ends).map(head).buffered(CONCURRENT);
        while let Some(read) = heads.next().await {
            let (end, version) = read?;
            match version {
                None if end.removed => {}
                None => {
                    let why = "the order is not in the table, and its removal not in the archive";
                    let removal = end.newest + 1;
                    self.findings
                        .add(Kind::Missing, &end.order_id, removal, None, why.to_owned());
                }
                Some(None) => {
                    let why = "the head in the table has no usable version";
                    self.findings.add(
                        Kind::Broken,
                        &end.order_id,
                        end.newest,
                        None,
                        why.to_owned(),
                    );
                }
                Some(Some(version)) if version > end.newest => {
                    let missing = end.newest + 1..=version;
                    self.missing(&end.order_id, missing, Some(self.day)).await?;
                }
                Some(Some(version)) if version < end.newest => {
                    let why = format!("the table is at v{version}, as after a restore");
                    self.findings
                        .add(Kind::Broken, &end.order_id, end.newest, None, why);
                }
                Some(Some(_)) => {}
            }
        }
        Ok(())
    }

    /// Versions that the archive lacks: the history says when each was made. Those of days after `until` are another day's business.
    async fn missing(
        &mut self,
        order_id: &str,
        versions: RangeInclusive<i64>,
        until: Option<&str>,
    ) -> Result<(), CommandError> {
        let (first, last) = versions.into_inner();
        let named = last.min(first.saturating_add(GAP - 1));
        let made = self.made(order_id, first, named).await?;
        for version in first..=named {
            let known = made.iter().find(|row| row.0 == version);
            let later = |at: &Timestamp| until.is_some_and(|until| at.day().as_str() > until);
            match known {
                Some((_, at, _)) if later(at) => {}
                Some((_, at, _)) if *at > self.settled => self.findings.on_its_way += 1,
                Some((_, at, why)) => {
                    let at = Some(at.rfc3339());
                    self.findings
                        .add(Kind::Missing, order_id, version, at, why.clone());
                }
                None => {
                    let why = "not in the table's history either".to_owned();
                    self.findings
                        .add(Kind::Missing, order_id, version, None, why);
                }
            }
        }
        if last > named {
            let why = format!("and every version up to {last}");
            self.findings
                .add(Kind::Missing, order_id, named + 1, None, why);
        }
        Ok(())
    }

    /// When and why these versions were made.
    async fn made(
        &self,
        order_id: &str,
        first: i64,
        last: i64,
    ) -> Result<Vec<(i64, Timestamp, String)>, CommandError> {
        let order_id = OrderId::stored(order_id);
        let mut made = Vec::new();
        let mut rows = pin!(self.store.history(&order_id).page_size(PAGE).stream());
        while let Some(row) = rows.next().await {
            let row = row?;
            let version = i64::try_from(row.version.get()).unwrap_or(i64::MAX);
            if version > last {
                break;
            }
            if version >= first {
                made.push((version, row.at, format!("{}: {}", row.actor, row.reason)));
            }
        }
        Ok(made)
    }
}

fn bad_answer(error: BadAnswer) -> CommandError {
    CommandError::new(Code::Archive, error.to_string())
}

/// Sixteen bytes of the id's hash: of a billion orders no two share them, for all that matters.
fn fingerprint(order_id: &str) -> u128 {
    let hash = Sha256::digest(order_id.as_bytes());
    hash.iter()
        .take(16)
        .fold(0, |all, byte| (all << 8) | u128::from(*byte))
}
