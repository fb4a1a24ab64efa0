//! The second pass: places what was checked, a few orders at a time.
//!
//! Lines that make the same order go one after another, in the order of the file, so that the outcome does not depend on luck.

use super::check::{Checked, ValidLine, order};
use crate::error::CommandError;
use futures::stream::{self, StreamExt as _};
use indicatif::{ProgressBar, ProgressStyle};
use sagaline_archive::HashKeys;
use sagaline_order::Context;
use sagaline_store::{Placed, Placement, Store, Table};
use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

/// Orders placed at the same time.
const CONCURRENT: usize = 16;

/// What became of a line.
pub(super) enum Outcome {
    Placed,
    AlreadyApplied,
    Refused(CommandError),
}

/// Where and how orders are placed.
pub(super) struct Placing<'s, T> {
    pub(super) store: &'s Store<T>,
    pub(super) phones: Option<&'s HashKeys>,
    pub(super) actor: String,
    pub(super) context: Context,
}

impl<T: Table> Placing<'_, T> {
    /// Places all valid lines. Once the table does not answer, nothing more is begun.
    pub(super) async fn run(
        &self,
        checked: &Checked<'_>,
        mut tell: impl FnMut(usize, &str, Outcome),
    ) {
        let stop = &AtomicBool::new(false);
        let lanes = lanes(&checked.orders);
        let lanes = stream::iter(&lanes).map(|lane| async move {
            let mut outcomes = Vec::with_capacity(lane.len());
            for valid in lane {
                if stop.load(Ordering::Relaxed) {
                    break;
                }
                let outcome = self.one(&checked.sha256, valid).await;
                if let Outcome::Refused(error) = &outcome
                    && error.stops_everything()
                {
                    stop.store(true, Ordering::Relaxed);
                }
                outcomes.push((valid, outcome));
            }
            outcomes
        });
        let mut lanes = lanes.buffer_unordered(CONCURRENT);
        while let Some(outcomes) = lanes.next().await {
            for (valid, outcome) in outcomes {
                tell(valid.line, &valid.order_id, outcome);
            }
        }
    }

    async fn one(&self, sha256: &str, valid: &ValidLine<'_>) -> Outcome {
        // Checked before, under the same rules; only the settings' times may differ by now.
        let new = match order(sha256, valid.line, valid.text, &self.actor, &self.context) {
            Ok(new) => new,
            Err(bad) => return Outcome::Refused(bad.into()),
        };
        let (order_id, request_id) = (new.order.order_id.clone(), new.request_id.clone());
        let phone_lookup = self
            .phones
            .zip(new.phone.as_deref())
            .map(|(keys, phone)| keys.hash(phone.as_bytes()));
        match self
            .store
            .place(
                new,
                Placement {
                    reserve_now: false,
                    phone_lookup,
                },
            )
            .await
        {
            Ok(Placed::Created { .. }) => Outcome::Placed,
            Ok(Placed::AlreadyApplied { .. }) => Outcome::AlreadyApplied,
            Err(error) => Outcome::Refused(CommandError::of_commit(&order_id, &request_id, &error)),
        }
    }
}

/// The lines by order, each lane in the order of the file.
fn lanes<'l, 'a>(orders: &'l [ValidLine<'a>]) -> Vec<Vec<&'l ValidLine<'a>>> {
    let mut lanes: Vec<Vec<&ValidLine<'_>>> = Vec::new();
    let mut of_order: HashMap<&str, usize> = HashMap::new();
    for valid in orders {
        let at = *of_order
            .entry(valid.order_id.as_str())
            .or_insert(lanes.len());
        match lanes.get_mut(at) {
            Some(lane) => lane.push(valid),
            None => lanes.push(vec![valid]),
        }
    }
    lanes
}

/// A progress bar on standard error; nothing where that is no terminal.
pub(super) fn progress(orders: usize) -> ProgressBar {
    let bar = ProgressBar::new(u64::try_from(orders).unwrap_or(u64::MAX));
    let style = ProgressStyle::with_template("placing {bar:40} {pos}/{len} {per_sec} {eta}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
    bar
}
