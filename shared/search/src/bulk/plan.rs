//! Which versions are sent: of each order the newest. An older one is sent only when the index will never hold the newer.

use crate::document::SearchInput;
use crate::sink::SinkVerdict;
use std::collections::{HashMap, VecDeque};

/// An input and its place in the write.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Entry<'i> {
    pub(crate) place: usize,
    pub(crate) input: &'i SearchInput,
}

/// What one item came to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// Written.
    Done,
    /// The index has it, or a newer one.
    Stale,
    /// The index will never take it.
    Refused(String),
    /// It may work later.
    Retry(String),
}

impl Outcome {
    pub(crate) const fn is_retry(&self) -> bool {
        matches!(self, Self::Retry(_))
    }
}

/// The inputs of one order that have no verdict yet, the newest version first; of equal versions the first that came.
#[derive(Debug)]
pub(crate) struct Order<'i> {
    entries: VecDeque<Entry<'i>>,
}

/// The places of a write and their verdicts, as they become known.
pub(crate) type Verdicts = Vec<(usize, SinkVerdict)>;

/// Groups inputs by order, in the order of their first appearance.
pub(crate) fn plan(inputs: &[SearchInput]) -> Vec<Order<'_>> {
    let mut orders: Vec<Order<'_>> = Vec::new();
    let mut of_order: HashMap<&str, usize> = HashMap::new();
    for (place, input) in inputs.iter().enumerate() {
        let entry = Entry { place, input };
        let at = *of_order.entry(input.order_id()).or_insert(orders.len());
        match orders.get_mut(at) {
            Some(order) => order.entries.push_back(entry),
            None => orders.push(Order {
                entries: VecDeque::from([entry]),
            }),
        }
    }
    for order in &mut orders {
        // Stable: of equal versions the first stays first, as the server would have it.
        order
            .entries
            .make_contiguous()
            .sort_by_key(|entry| std::cmp::Reverse(entry.input.version()));
    }
    orders
}

impl<'i> Order<'i> {
    /// Takes the newest version that has a document. Versions whose amounts the index cannot hold are refused on the way.
    pub(crate) fn next(&mut self, verdicts: &mut Verdicts) -> Option<(Entry<'i>, &'i str)> {
        while let Some(entry) = self.entries.pop_front() {
            match entry.input.document() {
                Ok(document) => return Some((entry, document)),
                Err(reason) => {
                    verdicts.push((entry.place, SinkVerdict::Refused(reason.to_owned())))
                }
            }
        }
        None
    }

    /// Whether every input has its verdict.
    pub(crate) fn is_settled(&self) -> bool {
        self.entries.is_empty()
    }

    /// Records what became of the version that was sent, and of the older ones with it. After a refusal the older ones are still open.
    pub(crate) fn settle(&mut self, sent: Entry<'_>, outcome: Outcome, verdicts: &mut Verdicts) {
        let mut rest = |verdict: SinkVerdict| {
            self.entries
                .drain(..)
                .map(|entry| (entry.place, verdict.clone()))
                .collect::<Verdicts>()
        };
        match outcome {
            Outcome::Done => {
                verdicts.push((sent.place, SinkVerdict::Done));
                verdicts.extend(rest(SinkVerdict::Stale));
            }
            Outcome::Stale => {
                verdicts.push((sent.place, SinkVerdict::Stale));
                verdicts.extend(rest(SinkVerdict::Stale));
            }
            Outcome::Retry(reason) => {
                verdicts.push((sent.place, SinkVerdict::Retry(reason)));
                verdicts.extend(rest(SinkVerdict::Behind(sent.place)));
            }
            Outcome::Refused(reason) => {
                verdicts.push((sent.place, SinkVerdict::Refused(reason)));
                // The same version once more would be refused once more.
                self.entries.retain(|entry| {
                    let repeated = entry.input == sent.input;
                    if repeated {
                        verdicts.push((entry.place, SinkVerdict::Behind(sent.place)));
                    }
                    !repeated
                });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sagaline_stream::Image;

    fn head(id: &str, version: i64, total: &str) -> SearchInput {
        let image = format!(
            r#"{{"order_id":{{"S":"{id}"}},"version":{{"N":"{version}"}},"total_minor":{{"N":"{total}"}}}}"#
        );
        SearchInput::from_head(&Image::parse(&image).unwrap()).unwrap()
    }

    /// Plays a whole write: `server` says what becomes of each version that is sent.
    fn play(
        inputs: &[SearchInput],
        server: impl Fn(i64) -> Outcome,
    ) -> (Vec<i64>, Vec<SinkVerdict>) {
        let (mut sent, mut verdicts) = (Vec::new(), Verdicts::new());
        for mut order in plan(inputs) {
            while let Some((entry, _)) = order.next(&mut verdicts) {
                sent.push(entry.input.version());
                order.settle(entry, server(entry.input.version()), &mut verdicts);
            }
        }
        verdicts.sort_by_key(|(place, _)| *place);
        assert!(
            verdicts.iter().map(|(place, _)| *place).eq(0..inputs.len()),
            "one verdict an input: {verdicts:?}"
        );
        (
            sent,
            verdicts.into_iter().map(|(_, verdict)| verdict).collect(),
        )
    }

    // C-05, C-07, C-32
    #[test]
    fn of_each_order_the_newest_version_alone_is_sent_and_repeats_are_stale() {
        use SinkVerdict::{Done, Stale};
        let inputs = [
            head("o-7", 1, "5"),
            head("o-7", 2, "5"),
            head("o-8", 4, "5"),
            head("o-7", 1, "5"),
            head("o-7", 2, "5"),
        ];
        let (sent, verdicts) = play(&inputs, |_| Outcome::Done);
        assert_eq!(
            (sent, verdicts),
            (vec![2, 4], vec![Stale, Done, Done, Stale, Stale])
        );

        let replaced = [
            head("o-3", 5, "1"),
            SearchInput::tombstone("o-3", 6),
            head("o-3", 9, "1"),
        ];
        assert_eq!(
            play(&replaced, |_| Outcome::Done),
            (vec![9], vec![Stale, Stale, Done])
        );
        assert_eq!(
            play(&replaced, |_| Outcome::Stale),
            (vec![9], vec![Stale, Stale, Stale])
        );
    }

    #[test]
    fn older_versions_share_the_fate_of_one_that_must_wait() {
        let inputs = [
            head("o-1", 1, "5"),
            head("o-1", 3, "5"),
            head("o-1", 2, "5"),
        ];
        let (sent, verdicts) = play(&inputs, |_| Outcome::Retry("503".to_owned()));
        assert_eq!(sent, [3]);
        assert_eq!(
            verdicts,
            [
                SinkVerdict::Behind(1),
                SinkVerdict::Retry("503".to_owned()),
                SinkVerdict::Behind(1)
            ]
        );
    }

    // C-31
    #[test]
    fn a_refused_version_makes_way_for_the_next_older_one() {
        let refused = |reason: &str| SinkVerdict::Refused(reason.to_owned());
        let too_much = "total_minor is no 64-bit integer: 9223372036854775808 is out of range";
        let inputs = [
            head("o-1", 1, "5"),
            head("o-1", 3, "9223372036854775808"),
            head("o-1", 2, "5"),
        ];
        let (sent, verdicts) = play(&inputs, |_| Outcome::Done);
        assert_eq!(
            (sent, verdicts),
            (
                vec![2],
                vec![SinkVerdict::Stale, refused(too_much), SinkVerdict::Done]
            )
        );

        let inputs = [
            head("o-1", 1, "5"),
            head("o-1", 3, "5"),
            head("o-1", 2, "5"),
            head("o-1", 3, "5"),
        ];
        let server = |version| {
            if version == 1 {
                Outcome::Done
            } else {
                Outcome::Refused("400".to_owned())
            }
        };
        let (sent, verdicts) = play(&inputs, server);
        assert_eq!(sent, [3, 2, 1]);
        assert_eq!(
            verdicts,
            [
                SinkVerdict::Done,
                refused("400"),
                refused("400"),
                SinkVerdict::Behind(1)
            ]
        );
    }
}
