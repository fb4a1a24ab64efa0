//! The keys that hidden values are hashed with, as the secret holds them: `{"current":"k2","keys":{"k1":"<base64>","k2":"<base64>"}}`.
//!
//! It refuses to know where the secret is kept. What was hashed with an older key can still be compared, so keys stay in the secret for as
//! long as their hashes are of use.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde::Deserialize;
use sha2::Sha256;
use std::collections::BTreeMap;
use std::fmt;
use thiserror::Error;

/// Why the text of the secret is of no use. No variant shows any of it.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum BadHashKeys {
    /// Another shape.
    #[error("the hash keys are not {{\"current\": id, \"keys\": {{id: base64}}}}")]
    Shape,
    /// A key is no base64, or empty.
    #[error("the hash key {id:?} is empty or no base64")]
    Key {
        /// The key's id.
        id: String,
    },
    /// The current id has no key.
    #[error("the current hash key {id:?} is not among the keys")]
    NoCurrent {
        /// The id that `current` names.
        id: String,
    },
}

#[derive(Deserialize)]
struct Secret {
    current: String,
    keys: BTreeMap<String, String>,
}

/// HMAC-SHA256 keys by id, one of them current. `Debug` shows ids only.
#[derive(Clone)]
pub struct HashKeys {
    current: String,
    keys: BTreeMap<String, Hmac<Sha256>>,
}

impl HashKeys {
    /// Reads the text of the secret.
    ///
    /// # Errors
    /// [`BadHashKeys`], when it has another shape, a key that is no base64, or a current id without a key.
    pub fn parse(secret: &str) -> Result<Self, BadHashKeys> {
        let Secret { current, keys } =
            serde_json::from_str(secret).map_err(|_| BadHashKeys::Shape)?;
        let keys = keys
            .into_iter()
            .map(|(id, key)| {
                let bytes = STANDARD
                    .decode(key.trim())
                    .ok()
                    .filter(|bytes| !bytes.is_empty());
                match bytes.and_then(|bytes| Hmac::new_from_slice(&bytes).ok()) {
                    Some(mac) => Ok((id, mac)),
                    None => Err(BadHashKeys::Key { id }),
                }
            })
            .collect::<Result<BTreeMap<_, _>, _>>()?;
        if !keys.contains_key(&current) {
            return Err(BadHashKeys::NoCurrent { id: current });
        }
        Ok(Self { current, keys })
    }

    /// The id of the current key.
    #[must_use]
    pub fn current(&self) -> &str {
        &self.current
    }

    /// The keyed hash of `data` with the current key, lower-case hexadecimal.
    #[must_use]
    pub fn hash(&self, data: &[u8]) -> String {
        self.keys
            .get(&self.current)
            .map(|mac| hex_of(mac, data))
            .unwrap_or_default()
    }

    /// The keyed hash of `data` with every key, the current one first: for look-ups of what may have been written with an older one.
    pub fn hash_with_all(&self, data: &[u8]) -> impl Iterator<Item = (&str, String)> {
        let current = self.keys.get_key_value(&self.current);
        let others = self.keys.iter().filter(|(id, _)| **id != self.current);
        current
            .into_iter()
            .chain(others)
            .map(move |(id, mac)| (id.as_str(), hex_of(mac, data)))
    }
}

impl fmt::Debug for HashKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<&String> = self.keys.keys().collect();
        f.debug_struct("HashKeys")
            .field("current", &self.current)
            .field("ids", &ids)
            .finish()
    }
}

fn hex_of(mac: &Hmac<Sha256>, data: &[u8]) -> String {
    let mut mac = mac.clone();
    mac.update(data);
    hex::encode(mac.finalize().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_current_key_hashes_and_older_ones_are_still_read() {
        // RFC 4231, test case 2: key "Jefe".
        let keys =
            HashKeys::parse(r#"{"current":"k2","keys":{"k1":"b2xk","k2":"SmVmZQ=="}}"#).unwrap();
        let expected = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
        assert_eq!(keys.hash(b"what do ya want for nothing?"), expected);
        let all: Vec<_> = keys
            .hash_with_all(b"what do ya want for nothing?")
            .collect();
        assert_eq!(
            all.first().map(|(id, hash)| (*id, hash.as_str())),
            Some(("k2", expected))
        );
        assert_eq!(all.get(1).map(|(id, _)| *id), Some("k1"));
        assert!(!format!("{keys:?}").contains("SmVm"));
    }

    #[test]
    fn a_secret_of_no_use_is_refused_without_showing_it() {
        #[track_caller]
        fn check(secret: &str, expected: &str) {
            let message = HashKeys::parse(secret).expect_err("no use").to_string();
            assert_eq!(message, expected);
        }
        check(
            "hunter2",
            r#"the hash keys are not {"current": id, "keys": {id: base64}}"#,
        );
        check(
            r#"{"current":"k1","keys":{"k1":"%%%"}}"#,
            r#"the hash key "k1" is empty or no base64"#,
        );
        check(
            r#"{"current":"k1","keys":{"k1":""}}"#,
            r#"the hash key "k1" is empty or no base64"#,
        );
        check(
            r#"{"current":"k3","keys":{"k1":"b2xk"}}"#,
            r#"the current hash key "k3" is not among the keys"#,
        );
    }
}
