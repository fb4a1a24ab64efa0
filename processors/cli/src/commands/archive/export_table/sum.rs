//! Count and checksum of items, whatever their order.

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

/// The number of items, and the sum of their hashes modulo 2^128 (of each the first 16 bytes of SHA-256 over its canonical text). Sums of
/// parts can be added.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Sum {
    /// How many.
    pub(super) items: u64,
    #[serde(with = "as_hex")]
    hash: u128,
}

impl Sum {
    /// One item more.
    pub(super) fn add_item(&mut self, canonical: &str) {
        let digest = Sha256::digest(canonical.as_bytes());
        let first = digest
            .iter()
            .take(16)
            .fold(0, |all, byte| (all << 8) | u128::from(*byte));
        self.items += 1;
        self.hash = self.hash.wrapping_add(first);
    }

    /// The items of another part.
    pub(super) fn add(&mut self, other: &Self) {
        self.items += other.items;
        self.hash = self.hash.wrapping_add(other.hash);
    }

    /// The checksum, 32 hexadecimal digits.
    pub(super) fn hex(&self) -> String {
        format!("{:032x}", self.hash)
    }
}

/// JSON numbers end at 64 bits for many readers.
mod as_hex {
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(hash: &u128, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&format!("{hash:032x}"))
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u128, D::Error> {
        let text = String::deserialize(from)?;
        u128::from_str_radix(&text, 16).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(items: &[&str]) -> Sum {
        let mut sum = Sum::default();
        items.iter().for_each(|item| sum.add_item(item));
        sum
    }

    #[test]
    fn the_order_of_items_does_not_matter_and_nothing_else_is_forgiven() {
        assert_eq!(of(&["a", "b", "c"]), of(&["c", "a", "b"]));
        assert_ne!(of(&["a", "b"]), of(&["a", "b", "b"]));
        assert_ne!(of(&["a", "a", "b"]).hex(), of(&["a", "b", "b"]).hex());
        let mut parts = of(&["a"]);
        parts.add(&of(&["b", "c"]));
        assert_eq!(parts, of(&["a", "b", "c"]));
    }

    #[test]
    fn it_comes_back_from_its_json() {
        let sum = of(&["a"]);
        let json = serde_json::to_string(&sum).unwrap();
        assert_eq!(
            json,
            r#"{"items":1,"hash":"ca978112ca1bbdcafac231b39a23dc4d"}"#
        );
        assert_eq!(serde_json::from_str::<Sum>(&json).unwrap(), sum);
    }
}
