//! The only source of chance: a small generator whose numbers follow from the seed, on every machine and in every release.
//!
//! SplitMix64 (Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014). Good enough to choose, worthless for secrets.

/// Rolls numbers.
#[derive(Debug, Clone)]
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        // Neighbouring seeds begin far apart.
        let mut dice = Self(seed ^ 0x5A6A_11E0_5EED_0001);
        dice.next();
        dice
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// From `low` to `high`, both included.
    pub(super) fn between(&mut self, low: u64, high: u64) -> u64 {
        let span = high.saturating_sub(low).saturating_add(1);
        low.saturating_add(self.next() % span.max(1))
    }

    /// From 0 up to `count`, excluded; 0 for an empty range.
    pub(super) fn below(&mut self, count: usize) -> usize {
        let count = u64::try_from(count).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % count).unwrap_or(0)
    }

    /// True so many times in a thousand.
    pub(super) fn chance(&mut self, permille: u32) -> bool {
        self.next() % 1000 < u64::from(permille)
    }

    /// One of several; nothing of nothing.
    pub(super) fn one_of<'a, T>(&mut self, choices: &'a [T]) -> Option<&'a T> {
        choices.get(self.below(choices.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_rolls_the_same_numbers_and_another_one_others() {
        let roll = |seed| {
            let mut dice = Dice::new(seed);
            (0..8).map(|_| dice.next()).collect::<Vec<_>>()
        };
        assert_eq!(roll(7), roll(7));
        assert_ne!(roll(7), roll(8));
    }

    #[test]
    fn ranges_keep_their_bounds_and_chances_their_odds() {
        let mut dice = Dice::new(1);
        assert!((0..1000).all(|_| (3..=5).contains(&dice.between(3, 5))));
        assert!((0..1000).all(|_| dice.below(4) < 4));
        assert_eq!(dice.below(0), 0);
        assert_eq!(dice.one_of::<u8>(&[]), None);
        assert!((0..1000).all(|_| !dice.chance(0) && dice.chance(1000)));
        let hits = (0..10_000).filter(|_| dice.chance(100)).count();
        assert!((800..1200).contains(&hits), "{hits}");
    }
}
