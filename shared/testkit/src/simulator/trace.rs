//! What happened, in the order it happened: the last lines for people, and a sum over all of it that tells two runs apart.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// Lines kept for a failing seed.
const KEPT: usize = 400;

/// One thing that happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Line {
    /// Milliseconds since the beginning.
    pub(super) at: u64,
    /// Which task; 0 = the world itself.
    pub(super) task: u32,
    /// What.
    pub(super) what: &'static str,
    /// How it went.
    pub(super) how: &'static str,
    /// To what.
    pub(super) about: String,
}

/// The trace of a run.
#[derive(Debug, Clone)]
pub(super) struct Trace {
    hash: Fnv,
    lines: VecDeque<Line>,
    happened: BTreeMap<(&'static str, &'static str), u64>,
}

/// FNV-1a over 64 bits (Fowler, Noll, Vo): the same number in every release, which the standard library's hashers do not promise.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xCBF2_9CE4_8422_2325)
    }
}

impl Fnv {
    pub(super) fn eat(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3);
        }
    }

    pub(super) fn sum(self) -> u64 {
        self.0
    }
}

impl Trace {
    pub(super) fn new() -> Self {
        Self {
            hash: Fnv::default(),
            lines: VecDeque::with_capacity(KEPT),
            happened: BTreeMap::new(),
        }
    }

    pub(super) fn push(&mut self, line: Line) {
        self.hash.eat(&line.at.to_le_bytes());
        self.hash.eat(&line.task.to_le_bytes());
        self.hash.eat(line.what.as_bytes());
        self.hash.eat(line.how.as_bytes());
        self.hash.eat(line.about.as_bytes());
        *self.happened.entry((line.what, line.how)).or_default() += 1;
        if self.lines.len() == KEPT {
            self.lines.pop_front();
        }
        self.lines.push_back(line);
    }

    pub(super) fn hash(&self) -> u64 {
        self.hash.sum()
    }

    /// How often what happened.
    pub(super) fn happened(&self) -> BTreeMap<String, u64> {
        let named = |((what, how), count): (&(&str, &str), &u64)| {
            (format!("{what} {how}").trim_end().to_owned(), *count)
        };
        self.happened.iter().map(named).collect()
    }

    /// The last lines, oldest first.
    pub(super) fn tail(&self, count: usize) -> Vec<String> {
        let skipped = self.lines.len().saturating_sub(count);
        self.lines
            .iter()
            .skip(skipped)
            .map(ToString::to_string)
            .collect()
    }

    /// The last lines that name one of these.
    pub(super) fn about(&self, names: &[String], count: usize) -> Vec<String> {
        let of = |line: &&Line| {
            names.iter().any(|name| {
                line.about
                    .split([' ', '#', ':'])
                    .any(|word| word == name.as_str())
            })
        };
        let lines: Vec<_> = self.lines.iter().filter(of).collect();
        let skipped = lines.len().saturating_sub(count);
        lines
            .into_iter()
            .skip(skipped)
            .map(ToString::to_string)
            .collect()
    }
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            at,
            task,
            what,
            how,
            about,
        } = self;
        write!(
            f,
            "{:>8}.{:03} s  task {task:<4} {what:<9} {how:<10} {about}",
            at / 1000,
            at % 1000
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(at: u64, about: &str) -> Line {
        Line {
            at,
            task: 1,
            what: "commit",
            how: "",
            about: about.to_owned(),
        }
    }

    #[test]
    fn the_sum_covers_every_line_and_the_tail_only_the_last() {
        let (mut one, mut other) = (Trace::new(), Trace::new());
        for at in 0..1000 {
            one.push(line(at, "o-1"));
            other.push(line(at, if at == 0 { "o-2" } else { "o-1" }));
        }
        assert_ne!(one.hash(), other.hash());
        assert_eq!(one.tail(3), other.tail(3));
        assert_eq!(one.tail(2).len(), 2);
        assert!(one.tail(1)[0].contains("0.999 s"));
    }

    #[test]
    fn lines_are_found_by_the_order_they_name() {
        let mut trace = Trace::new();
        for about in ["o-1", "o-11", "REQUEST#o-1#3", "place o-1"] {
            trace.push(line(0, about));
        }
        assert_eq!(trace.about(&["o-1".to_owned()], 10).len(), 3);
    }
}
