//! Cursors: where a page ended, as a text that a caller may carry around but not read or change.
//!
//! A cursor holds the sort key of the last row, the list's name and a digest of what was asked for, and an HMAC over all of it. So a cursor that
//! was changed is told from one of another list, and neither is ever taken for a place in this one. It is signed, not encrypted: it shows a time
//! and an id to whoever takes it apart, and both stood in the row.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// The form of a cursor. A later form takes another number; older cursors are then unreadable, and lists are asked for from their beginning.
const FORM: u8 = 1;
/// Bytes of the HMAC that are kept: 128 bits, the least that RFC 2104, section 5, and NIST SP 800-107 advise.
const TAG_BYTES: usize = 16;
/// Bytes of the digest of what was asked for: it tells mistakes apart, the HMAC is what protects it.
const DIGEST_BYTES: usize = 8;

/// Where a page ended. Hand it back to get the next one of the same list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor(String);

impl Cursor {
    /// From the text of a cursor that was given out before.
    #[must_use]
    pub fn from_text(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// As text, to be given out: base64 for URLs, without padding.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The key that cursors are signed with. `Debug` does not show it.
#[derive(Clone)]
pub struct CursorKey(Option<Hmac<Sha256>>);

impl CursorKey {
    /// From a secret: whoever does not know it cannot make a cursor. Every process that is to understand the others' cursors needs the same one.
    #[must_use]
    pub fn secret(secret: &[u8]) -> Self {
        // HMAC takes a key of any length (RFC 2104), so there is always one.
        Self(Hmac::new_from_slice(secret).ok())
    }

    /// From the table's name, for tools that have no secret. It is no protection, for anyone can know the name; but a cursor that was cut,
    /// mistyped, or taken from another table is still recognised.
    #[must_use]
    pub fn of_table(name: &str) -> Self {
        Self::secret(format!("sagaline cursors of table {name}").as_bytes())
    }

    fn mac(&self, form: &[u8]) -> Option<Hmac<Sha256>> {
        let mut mac = self.0.clone()?;
        mac.update(form);
        Some(mac)
    }
}

impl std::fmt::Debug for CursorKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CursorKey")
    }
}

/// Why a cursor is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CursorError {
    /// It is no cursor, or not a whole one.
    #[error("it is no cursor, or not a whole one")]
    Unreadable,
    /// Its signature is not ours.
    #[error("it was changed, or given out under another key or for another table")]
    Forged,
    /// It was given out by another list.
    #[error("it is a cursor of the list {list}")]
    OtherList {
        /// Of which.
        list: String,
    },
    /// It was given out by the same list, asked for something else: another user, time, direction.
    #[error("it was given out for other arguments of the same list")]
    OtherArguments,
}

/// What a list was asked for, as far as its cursors depend on it.
#[derive(Debug, Clone)]
pub(crate) struct Asked {
    /// The list's name.
    pub(crate) list: &'static str,
    digest: [u8; DIGEST_BYTES],
}

impl Asked {
    pub(crate) fn new(list: &'static str, arguments: &str) -> Self {
        let hash = Sha256::new()
            .chain_update(list)
            .chain_update([0])
            .chain_update(arguments)
            .finalize();
        let mut digest = [0; DIGEST_BYTES];
        digest
            .iter_mut()
            .zip(hash)
            .for_each(|(to, from)| *to = from);
        Self { list, digest }
    }

    /// The cursor behind the row with this sort key.
    pub(crate) fn cursor(&self, key: &CursorKey, last: &str) -> Cursor {
        let mut signed = vec![FORM];
        signed.extend(self.digest);
        signed.extend(self.list.as_bytes());
        signed.push(0);
        signed.extend(last.as_bytes());
        let tag = key
            .mac(&signed)
            .map(|mac| mac.finalize().into_bytes())
            .unwrap_or_default();
        signed.extend(tag.iter().take(TAG_BYTES));
        Cursor(URL_SAFE_NO_PAD.encode(signed))
    }

    /// The sort key that a cursor of this list stands behind.
    pub(crate) fn position(
        &self,
        key: &CursorKey,
        Cursor(text): &Cursor,
    ) -> Result<String, CursorError> {
        let bytes = URL_SAFE_NO_PAD
            .decode(text)
            .map_err(|_| CursorError::Unreadable)?;
        let at = bytes
            .len()
            .checked_sub(TAG_BYTES)
            .ok_or(CursorError::Unreadable)?;
        let (signed, tag) = bytes.split_at(at);
        key.mac(signed)
            .and_then(|mac| mac.verify_truncated_left(tag).ok())
            .ok_or(CursorError::Forged)?;
        let rest = signed.strip_prefix(&[FORM]);
        let (digest, rest) = rest
            .and_then(|rest| rest.split_at_checked(DIGEST_BYTES))
            .ok_or(CursorError::Unreadable)?;
        let (list, last) = std::str::from_utf8(rest)
            .ok()
            .and_then(|rest| rest.split_once('\0'))
            .ok_or(CursorError::Unreadable)?;
        if list != self.list {
            return Err(CursorError::OtherList {
                list: list.to_owned(),
            });
        }
        if digest != self.digest {
            return Err(CursorError::OtherArguments);
        }
        Ok(last.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn asked() -> Asked {
        Asked::new("user_orders", "u-1")
    }

    #[test]
    fn a_cursor_comes_back_as_the_place_it_stands_for_and_every_other_is_refused_by_name() {
        let key = CursorKey::secret(b"s");
        let cursor = asked().cursor(&key, "20260131T083000.000Z#o-1");
        let check = |asked: &Asked,
                     key: &CursorKey,
                     cursor: &Cursor,
                     expected: Result<&str, CursorError>| {
            assert_eq!(
                asked.position(key, cursor),
                expected.map(str::to_owned),
                "{cursor:?}"
            );
        };
        check(&asked(), &key, &cursor, Ok("20260131T083000.000Z#o-1"));
        let other = CursorError::OtherList {
            list: "user_orders".to_owned(),
        };
        check(&Asked::new("refunds", "u-1"), &key, &cursor, Err(other));
        check(
            &Asked::new("user_orders", "u-2"),
            &key,
            &cursor,
            Err(CursorError::OtherArguments),
        );
        check(
            &asked(),
            &CursorKey::secret(b"t"),
            &cursor,
            Err(CursorError::Forged),
        );
        check(
            &asked(),
            &CursorKey::of_table("orders"),
            &cursor,
            Err(CursorError::Forged),
        );
        for text in ["", "x", "20260131T083000.000Z#o-1", "AAAA", "!"] {
            check(
                &asked(),
                &key,
                &Cursor::from_text(text),
                Err(CursorError::Unreadable),
            );
        }
        // A form of a later program, rightly signed.
        let later = {
            let signed = [2_u8; 20];
            let tag = key
                .mac(&signed)
                .map(|mac| mac.finalize().into_bytes())
                .unwrap_or_default();
            Cursor(URL_SAFE_NO_PAD.encode([&signed[..], &tag[..TAG_BYTES]].concat()))
        };
        check(&asked(), &key, &later, Err(CursorError::Unreadable));
    }

    #[test]
    fn a_key_shows_nothing_of_itself() {
        assert_eq!(format!("{:?}", CursorKey::secret(b"hunter2")), "CursorKey");
    }

    proptest! {
        /// Whatever a row's key holds, it comes back; whatever is changed of the text, it does not.
        #[test]
        fn no_changed_cursor_is_taken_for_a_place(last in "\\PC{0,40}", at in 0_usize..200, to in "[A-Za-z0-9_-]") {
            let key = CursorKey::secret(b"s");
            let cursor = asked().cursor(&key, &last);
            prop_assert_eq!(asked().position(&key, &cursor), Ok(last));
            let mut text = cursor.as_str().to_owned();
            let at = at % text.len();
            text.replace_range(at..=at, &to);
            let changed = Cursor::from_text(text);
            // The last character may carry bits that no byte uses; base64 refuses those that are not zero.
            prop_assert_eq!(asked().position(&key, &changed).is_ok(), changed == cursor);
        }
    }
}
