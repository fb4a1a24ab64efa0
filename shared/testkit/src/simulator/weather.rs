//! What a seed brings: how much goes wrong, and which orders there are.

use sagaline_order::{SagaConfig, Seconds, Sku};

use super::call::Call;
use super::dice::Dice;

/// Milliseconds of a minute.
pub(super) const MINUTE: u64 = 60_000;

/// How much goes wrong, in thousandths unless it says otherwise.
#[derive(Debug, Clone)]
pub(super) struct Weather {
    /// False = the stream delivers nothing: the sweeper is alone.
    pub(super) stream: bool,
    /// Calls to the table that fail.
    pub(super) table: u32,
    /// Calls to the gateway that fail, besides what its tokens script.
    pub(super) gateway: u32,
    /// Calls to the bus that fail.
    pub(super) bus: u32,
    /// Tasks that end at a call.
    pub(super) crashes: u32,
    /// Moments at which every process is frozen for a while.
    pub(super) freezes: u32,
    /// Records that are lost.
    pub(super) losses: u32,
    /// Records that are delivered again, at the same time or later.
    pub(super) repeats: u32,
    /// Times that a shard of the stream stands still.
    pub(super) lags: u32,
    /// Orders whose customer cancels.
    pub(super) cancels: u32,
    /// Orders of which gateway or fulfilment tell unasked.
    pub(super) reports: u32,
    /// Visits of an operator that touch an order which needs none.
    pub(super) meddling: u32,
    /// Times that the gateway is left alone for a while.
    pub(super) outages: u32,
}

impl Weather {
    /// Nothing goes wrong any more, so that everything can end.
    pub(super) fn calm() -> Self {
        Self {
            stream: true,
            table: 0,
            gateway: 0,
            bus: 0,
            crashes: 0,
            freezes: 0,
            losses: 0,
            repeats: 0,
            lags: 0,
            cancels: 0,
            reports: 0,
            meddling: 0,
            outages: 0,
        }
    }

    /// One seed is a breeze, another one a storm in one place, a third one everywhere.
    pub(super) fn rolled(dice: &mut Dice) -> Self {
        let mut roll = |levels: &[u32]| dice.one_of(levels).copied().unwrap_or_default();
        Self {
            stream: roll(&[1, 1, 1, 1, 1, 1, 1, 0]) == 1,
            table: roll(&[0, 0, 10, 60, 250]),
            gateway: roll(&[0, 0, 30, 150, 500]),
            bus: roll(&[0, 0, 50, 400]),
            crashes: roll(&[0, 0, 5, 30, 100]),
            freezes: roll(&[0, 0, 0, 2, 10]),
            losses: roll(&[0, 0, 50, 400]),
            repeats: roll(&[0, 50, 200, 600]),
            lags: roll(&[0, 0, 5, 20]),
            cancels: roll(&[0, 100, 300, 700]),
            reports: roll(&[0, 100, 500]),
            meddling: roll(&[0, 0, 0, 100, 400]),
            outages: roll(&[0, 0, 0, 300]),
        }
    }

    /// How often a call of this kind fails.
    pub(super) fn of(&self, call: Call) -> u32 {
        match call {
            Call::Get | Call::Transact | Call::Query => self.table,
            Call::Charge | Call::Refund | Call::Find => self.gateway,
            Call::Publish => self.bus,
        }
    }
}

/// One order that will be placed.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) order_id: String,
    pub(super) user: u64,
    /// Product and quantity of each line.
    pub(super) lines: Vec<(u64, u64)>,
    pub(super) unit_minor: u64,
    pub(super) token: String,
    pub(super) reserve_now: bool,
    /// When, in milliseconds.
    pub(super) at: u64,
}

/// How a payment goes, as the gateway's script has it.
const PAYMENTS: [&str; 16] = [
    "approve",
    "approve",
    "approve",
    "approve",
    "decline",
    "pending",
    "pending-then-approve:20s",
    "pending-then-approve:900s",
    "pending-then-approve:7200s",
    "pending-then-decline:90s",
    "timeout-charged",
    "timeout-charged:3",
    "timeout-not-charged",
    "timeout-not-charged:4",
    "fail:1",
    "fail:5+pending-then-approve:60s",
];

/// How a refund goes.
const REFUNDS: [&str; 8] = [
    "",
    "",
    "",
    "+refund-refuse:1",
    "+refund-refuse:5",
    "+refund-fail:2",
    "+refund-timeout",
    "+refund-timeout:2+refund-fail:1",
];

/// Products, and the most that one order takes of one.
const PRODUCTS: u64 = 5;
const MOST: u64 = 3;

pub(super) fn plans(count: usize, dice: &mut Dice) -> Vec<Plan> {
    let plan = |number: usize| {
        let lines = dice.between(1, 3);
        let first = dice.between(0, PRODUCTS - 1);
        let payment = dice.one_of(&PAYMENTS).copied().unwrap_or_default();
        let refund = dice.one_of(&REFUNDS).copied().unwrap_or_default();
        Plan {
            order_id: format!("o-{number:02}"),
            user: dice.between(0, 4),
            lines: (0..lines)
                .map(|line| ((first + line) % PRODUCTS, dice.between(1, MOST)))
                .collect(),
            // Now and then there is nothing to pay.
            unit_minor: if dice.chance(60) {
                0
            } else {
                dice.between(1, 5_000)
            },
            token: format!("{payment}{refund}"),
            reserve_now: dice.chance(200),
            at: dice.between(0, 20 * MINUTE),
        }
    };
    (0..count).map(plan).collect()
}

/// Scarce enough that some orders come too late.
pub(super) fn stock(orders: usize, dice: &mut Dice) -> Vec<(Sku, i64)> {
    let most = u64::try_from(orders).unwrap_or(u64::MAX).saturating_mul(2);
    (0..PRODUCTS)
        .map(|product| {
            let stock = dice.between(most / 4, most);
            (sku(product), i64::try_from(stock).unwrap_or(i64::MAX))
        })
        .collect()
}

pub(super) fn sku(product: u64) -> Sku {
    Sku::stored(format!("p-{product}"))
}

/// The settings of most seeds are the defaults; the others try their edges.
pub(super) fn config(dice: &mut Dice) -> Option<SagaConfig> {
    if !dice.chance(300) {
        return None;
    }
    let defaults = SagaConfig::default();
    let seconds = |dice: &mut Dice, low, high| {
        Seconds(u32::try_from(dice.between(low, high)).unwrap_or_default())
    };
    Some(SagaConfig {
        pay_deadline_s: seconds(dice, 120, 3_600),
        step_deadline_s: seconds(dice, 20, 120),
        unknown_grace_s: seconds(dice, 5, 60),
        recheck_s: seconds(dice, 14_400, 90_000),
        undo_attempts: u32::try_from(dice.between(1, 4)).unwrap_or_default(),
        ..defaults
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gateway::Script;

    #[test]
    fn every_token_is_one_that_the_gateway_knows() {
        let approve = Script::parse(None);
        let known = |token: &str| {
            token
                .split('+')
                .filter(|part| !part.is_empty() && *part != "approve")
                .all(|part| Script::parse(Some(part)) != approve)
        };
        for token in PAYMENTS.iter().chain(&REFUNDS) {
            assert!(known(token), "{token}");
        }
    }

    #[test]
    fn seeds_differ_in_weather_and_every_fault_has_a_seed_with_and_one_without() {
        let all: Vec<_> = (0..200)
            .map(|seed| Weather::rolled(&mut Dice::new(seed)))
            .collect();
        let levels = |of: fn(&Weather) -> u32| all.iter().map(of).collect::<Vec<_>>();
        for of in [
            |w: &Weather| w.table,
            |w: &Weather| w.gateway,
            |w: &Weather| w.bus,
            |w: &Weather| w.crashes,
            |w: &Weather| w.freezes,
            |w: &Weather| w.losses,
            |w: &Weather| w.repeats,
            |w: &Weather| w.lags,
            |w: &Weather| w.outages,
        ] {
            let levels = levels(of);
            assert!(levels.contains(&0) && levels.iter().any(|level| *level > 0));
        }
        assert!(all.iter().any(|weather| !weather.stream));
    }
}
