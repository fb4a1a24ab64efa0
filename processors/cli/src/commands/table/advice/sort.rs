//! What is wrong with a time or a version in a key.

use super::{Asked, Correction, Sort};
use crate::commands::table::moment::{Moment, Zone, whole_day};

/// The day in `REFUND#` and `DAY#` has dashes, unlike times in sort keys.
pub(super) fn day(asked: &Asked) -> Option<Correction> {
    let (prefix, rest) = ["REFUND#", "DAY#"]
        .into_iter()
        .find_map(|prefix| asked.pk.strip_prefix(prefix).map(|rest| (prefix, rest)))?;
    let (day, shard) = rest
        .split_once('#')
        .map_or((rest, None), |(day, shard)| (day, Some(shard)));
    let meant = whole_day(day)
        .or_else(|| Moment::read(day).map(|moment| moment.at()))?
        .day();
    if meant == day {
        return None;
    }
    let shard = shard.map_or_else(String::new, |shard| format!("#{shard}"));
    let what = format!(
        "a day in a partition key is a UTC day with dashes: {prefix}{meant}, not {prefix}{day}"
    );
    Some((
        "time_form",
        what,
        vec![asked.with_pk(format!("{prefix}{meant}{shard}"))],
    ))
}

/// A time in another form than keys have.
pub(super) fn time(asked: &Asked) -> Option<Correction> {
    let mut seen: Option<(String, Moment)> = None;
    let mut note = |text: &str, moment: &Moment| {
        seen.get_or_insert_with(|| (text.to_owned(), moment.clone()));
    };
    let sk = match &asked.sk {
        Sort::Any => return None,
        Sort::Is(text) => {
            let timed = Timed::of(text)?;
            note(timed.time, &timed.moment);
            // Without its milliseconds a time is the beginning of a key and no key.
            if timed.moment.exact {
                Sort::Is(format!(
                    "{}{}{}",
                    timed.before, timed.moment.basic, timed.after
                ))
            } else {
                Sort::Prefix(format!("{}{}", timed.before, timed.moment.basic))
            }
        }
        Sort::Prefix(text) => {
            let timed = Timed::of(text)?;
            note(timed.time, &timed.moment);
            let after = if timed.moment.exact { timed.after } else { "" };
            Sort::Prefix(format!("{}{}{after}", timed.before, timed.moment.basic))
        }
        Sort::Between(from, to) => {
            let (first, last) = (Timed::of(from), Timed::of(to));
            for timed in [&first, &last].into_iter().flatten() {
                note(timed.time, &timed.moment);
            }
            let from = first.map_or_else(
                || from.clone(),
                |timed| format!("{}{}", timed.before, timed.moment.basic),
            );
            let to = last.map_or_else(
                || to.clone(),
                |timed| format!("{}{}", timed.before, timed.moment.upper()),
            );
            Sort::Between(from, to)
        }
    };
    let (text, moment) = seen?;
    let basic = &moment.basic;
    let (kind, what) = match moment.zone {
        Zone::Offset => (
            "local_time",
            format!("times in keys are UTC: '{text}' is a local time, in UTC {basic}"),
        ),
        Zone::Utc => (
            "time_form",
            format!(
                "'{text}' does not sort among times in keys, which have no dashes, blanks or colons: {basic}"
            ),
        ),
        Zone::Unsaid => (
            "time_form",
            format!(
                "'{text}' does not sort among times in keys, which have no dashes, blanks or colons: {basic}, if it was UTC; of a local time give the offset, as +01:00"
            ),
        ),
    };
    Some((
        kind,
        what,
        vec![Asked {
            sk,
            ..asked.clone()
        }],
    ))
}

/// A sort key with a time in another form.
struct Timed<'a> {
    before: &'a str,
    time: &'a str,
    /// What follows the time: `#` and the rest.
    after: &'a str,
    moment: Moment,
}

impl<'a> Timed<'a> {
    fn of(text: &'a str) -> Option<Self> {
        let prefix = ["USER#ORDERS#", "PRODUCT#ORDERS#"]
            .into_iter()
            .find(|prefix| text.starts_with(prefix))
            .unwrap_or_default();
        let (before, rest) = text.split_at_checked(prefix.len())?;
        let end = rest.find('#').unwrap_or(rest.len());
        let (time, after) = rest.split_at_checked(end)?;
        let moment = Moment::read(time)?;
        Some(Self {
            before,
            time,
            after,
            moment,
        })
    }
}

/// `HISTORY#12` for `HISTORY#0000000012`.
pub(super) fn version(asked: &Asked) -> Option<Correction> {
    let Sort::Is(sk) = &asked.sk else { return None };
    let digits = sk.strip_prefix("HISTORY#")?;
    let number: u64 = digits.parse().ok().filter(|_| digits.len() != 10)?;
    let instead = format!("HISTORY#{number:010}");
    let what = format!("a version in a key has ten digits: {instead}");
    let asked = Asked {
        sk: Sort::Is(instead),
        ..asked.clone()
    };
    Some(("version_digits", what, vec![asked]))
}
