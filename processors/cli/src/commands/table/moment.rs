//! Times as people write them, made into the form that keys have.
//!
//! A key holds `20260131T083000.000Z`: UTC, fixed width, so that text order is time order. Nothing else sorts among them, and DynamoDB finds
//! nothing for anything else without a word.

use sagaline_order::{Seconds, Timestamp};

/// A time that was read from a text that is not in the form of keys.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Moment {
    /// As far as it was given, in the form of keys: `20260131T0830`.
    pub(super) basic: String,
    /// Whether that is the whole form.
    pub(super) exact: bool,
    pub(super) zone: Zone,
    at: Timestamp,
}

/// What the text said of its zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Zone {
    Utc,
    /// An offset from UTC: a local time.
    Offset,
    /// Nothing; it was taken as UTC.
    Unsaid,
}

impl Moment {
    /// `None` if the text is no time, or is one in the form of keys already: whole, or its beginning.
    pub(super) fn read(text: &str) -> Option<Self> {
        if is_key_form(text) {
            return None;
        }
        let mut rest = text.trim();
        let date = date(&mut rest)?;
        let (clock, places) = match rest.strip_prefix(['T', 't', ' ', '_']) {
            Some(after) => {
                rest = after.trim_start();
                clock(&mut rest)?
            }
            None => ("00:00:00.000".to_owned(), 8),
        };
        let zone_text = rest.trim();
        let (zone, offset) = match zone_text {
            "" => (Zone::Unsaid, "Z".to_owned()),
            "Z" | "z" | "UTC" => (Zone::Utc, "Z".to_owned()),
            other => (Zone::Offset, offset(other)?),
        };
        let at = Timestamp::parse(&format!("{date}T{clock}{offset}"))?;
        let exact = places == 20;
        Some(Self {
            basic: at.basic().chars().take(places).collect(),
            exact,
            zone: if places == 8 && zone == Zone::Unsaid {
                Zone::Utc
            } else {
                zone
            },
            at,
        })
    }

    /// The last instant that the text can mean, as an inclusive upper bound of keys.
    pub(super) fn upper(&self) -> String {
        // `~` is behind every character of a time.
        if self.exact {
            self.basic.clone()
        } else {
            format!("{}~", self.basic)
        }
    }

    pub(super) const fn at(&self) -> Timestamp {
        self.at
    }
}

/// `from` and `until` of a range that a person gives: a day or a time, RFC 3339 or looser. A day without a time is the whole day.
pub(in crate::commands) fn instant(text: &str, is_end: bool) -> Option<Timestamp> {
    if let Some(at) = Timestamp::parse(text).or_else(|| Timestamp::parse_basic(text)) {
        return Some(at);
    }
    if let Some(at) = whole_day(text) {
        return Some(if is_end { at.plus(Seconds(86_400)) } else { at });
    }
    Moment::read(text).map(|moment| moment.at())
}

/// The beginning of a UTC day `2026-01-31` or `20260131`.
pub(super) fn whole_day(text: &str) -> Option<Timestamp> {
    let mut rest = text;
    let day = date(&mut rest)?;
    rest.is_empty()
        .then(|| Timestamp::parse(&format!("{day}T00:00:00Z")))
        .flatten()
}

/// The form of keys, or the beginning of it: what text order puts among them.
fn is_key_form(text: &str) -> bool {
    const FORM: &str = "ddddddddTdddddd.dddZ";
    !text.is_empty()
        && text.len() <= FORM.len()
        && text
            .chars()
            .zip(FORM.chars())
            .all(|(given, wanted)| match wanted {
                'd' => given.is_ascii_digit(),
                other => given == other,
            })
}

/// `2026-01-31`, `2026/1/31` or `20260131`, as the first of them.
fn date(rest: &mut &str) -> Option<String> {
    let year = digits(rest, 4, 4)?;
    let mark = rest.chars().next().filter(|mark| matches!(mark, '-' | '/'));
    let (month, day) = match mark {
        Some(mark) => {
            *rest = rest.strip_prefix(mark)?;
            let month = digits(rest, 1, 2)?;
            *rest = rest.strip_prefix(mark)?;
            (month, digits(rest, 1, 2)?)
        }
        None => (digits(rest, 2, 2)?, digits(rest, 2, 2)?),
    };
    Some(format!("{year}-{month:0>2}-{day:0>2}"))
}

/// The time of day as `08:30:00.000`, and how many characters of the form of keys it gives.
fn clock(rest: &mut &str) -> Option<(String, usize)> {
    let hour = digits(rest, 2, 2)?;
    let colon = rest.starts_with(':');
    let part = |rest: &mut &str| {
        let after = if colon {
            rest.strip_prefix(':')
        } else {
            Some(*rest)
        };
        let mut after = after?;
        let found = digits(&mut after, 2, 2)?;
        *rest = after;
        Some(found)
    };
    let Some(minute) = part(rest) else {
        return Some((format!("{hour}:00:00.000"), 11));
    };
    let Some(second) = part(rest) else {
        return Some((format!("{hour}:{minute}:00.000"), 13));
    };
    let Some(after) = rest.strip_prefix(['.', ',']) else {
        return Some((format!("{hour}:{minute}:{second}.000"), 15));
    };
    *rest = after;
    let fraction = digits(rest, 1, 9)?;
    let millis: String = fraction.chars().chain("000".chars()).take(3).collect();
    Some((format!("{hour}:{minute}:{second}.{millis}"), 20))
}

/// `+01:00` from `+01:00`, `+0100` or `+01`.
fn offset(text: &str) -> Option<String> {
    let sign = text
        .chars()
        .next()
        .filter(|sign| matches!(sign, '+' | '-'))?;
    let mut rest = text.strip_prefix(sign)?;
    let hours = digits(&mut rest, 2, 2)?;
    let mut rest = rest.strip_prefix(':').unwrap_or(rest);
    let minutes = if rest.is_empty() {
        "00".to_owned()
    } else {
        digits(&mut rest, 2, 2)?
    };
    rest.is_empty().then(|| format!("{sign}{hours}:{minutes}"))
}

/// Takes the digits that come first, at least `least` and at most `most`.
fn digits(rest: &mut &str, least: usize, most: usize) -> Option<String> {
    let count = rest
        .bytes()
        .take(most)
        .take_while(u8::is_ascii_digit)
        .count();
    let (found, after) = rest.split_at_checked(count).filter(|_| count >= least)?;
    *rest = after;
    Some(found.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_in_other_forms_become_what_keys_hold_of_them() {
        let check = |text: &str, basic: &str, zone: Zone| {
            let moment = Moment::read(text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(
                (moment.basic.as_str(), moment.zone),
                (basic, zone),
                "{text}"
            );
        };
        check("2026-01-31 08:30", "20260131T0830", Zone::Unsaid);
        check("2026-01-31T08:30:00Z", "20260131T083000", Zone::Utc);
        check(
            "2026-01-31T08:30:00.000Z",
            "20260131T083000.000Z",
            Zone::Utc,
        );
        check("2026-01-31T08:30:00.5Z", "20260131T083000.500Z", Zone::Utc);
        check("2026-01-31", "20260131", Zone::Utc);
        check("2026/1/31", "20260131", Zone::Utc);
        check(
            "2026-01-31T09:30:00.000+01:00",
            "20260131T083000.000Z",
            Zone::Offset,
        );
        check("2026-01-31 09:30 +0100", "20260131T0830", Zone::Offset);
        check("2026-02-01T00:30+01", "20260131T2330", Zone::Offset);
        check(
            "20260131T093000.000+0100",
            "20260131T083000.000Z",
            Zone::Offset,
        );
        check("20260131 0830", "20260131T0830", Zone::Unsaid);
        check("20260131t083000z", "20260131T083000", Zone::Utc);
    }

    #[test]
    fn what_sorts_among_keys_and_what_is_no_time_is_left_alone() {
        for text in [
            "20260131T083000.000Z",
            "20260131T0830",
            "20260131",
            "2026",
            "",
            "o-1",
            "2026-13-31",
            "2026-02-30",
            "12345678901",
            "2026-01-31x",
            "2026-01-31T25:00",
            "2026-01-31T08:30+1",
        ] {
            assert_eq!(Moment::read(text), None, "{text}");
        }
    }

    #[test]
    fn an_end_that_is_a_day_is_the_end_of_the_day() {
        let at = |text: &str| Timestamp::parse(text);
        assert_eq!(instant("2026-01-31", false), at("2026-01-31T00:00:00Z"));
        assert_eq!(instant("2026-01-31", true), at("2026-02-01T00:00:00Z"));
        assert_eq!(
            instant("2026-01-31T08:30:00+01:00", true),
            at("2026-01-31T07:30:00Z")
        );
        assert_eq!(
            instant("20260131T083000.000Z", false),
            at("2026-01-31T08:30:00Z")
        );
        assert_eq!(instant("yesterday", false), None);
    }
}
