//! Whether two neighbouring versions of an order fit: what the later one says was there before is what the earlier one left.
//!
//! That makes the archive its own proof: a row that was altered, or put in the place of another, breaks the chain on both sides. Hidden
//! values take part by their keyed hashes. Two hashes under one key are equal or the chain is broken; hashes under two keys, or a value that
//! is hidden on one side only, cannot be compared by anybody who has no key, and say so.

use sagaline_stream::{Attribute, DecodeError, Image};

/// How two neighbouring versions fit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Link {
    /// The images are equal.
    Whole,
    /// They are equal but for attributes that are hidden in two ways, which are named. Nothing speaks against it.
    Unverifiable(Vec<String>),
    /// They differ, in the attributes that are named.
    Broken(Vec<String>),
}

/// Compares the image that the earlier version left with the one that the later version found; `None` is no item at all.
///
/// # Errors
/// An image that is no DynamoDB JSON.
pub fn link(left: Option<&str>, found: Option<&str>) -> Result<Link, DecodeError> {
    let (left, found) = match (left, found) {
        (None, None) => return Ok(Link::Whole),
        (Some(left), Some(found)) if left == found => return Ok(Link::Whole),
        (Some(left), Some(found)) => (Image::parse(left)?, Image::parse(found)?),
        (Some(one), None) | (None, Some(one)) => {
            let names = Image::parse(one)?
                .iter()
                .map(|(name, _)| name.to_owned())
                .collect();
            return Ok(Link::Broken(names));
        }
    };
    let (mut broken, mut unverifiable) = (Vec::new(), Vec::new());
    for (name, before) in left.iter() {
        match found.get(name) {
            Some(after) if before == after => {}
            Some(after) if hidden_apart(before, after) => unverifiable.push(name.to_owned()),
            Some(_) | None => broken.push(name.to_owned()),
        }
    }
    let appeared = found.iter().filter(|(name, _)| left.get(name).is_none());
    broken.extend(appeared.map(|(name, _)| name.to_owned()));
    Ok(if !broken.is_empty() {
        Link::Broken(broken)
    } else if !unverifiable.is_empty() {
        Link::Unverifiable(unverifiable)
    } else {
        // The same values, written differently: by an older encoder, say.
        Link::Whole
    })
}

/// Two unequal values of which nobody without a key can tell whether they stand for the same.
fn hidden_apart(one: &Attribute<'_>, other: &Attribute<'_>) -> bool {
    match (Hidden::read(one), Hidden::read(other)) {
        (None, None) => false,
        (Some(Hidden::Hash { key: one }), Some(Hidden::Hash { key: other })) => one != other,
        (Some(_), _) | (_, Some(_)) => true,
    }
}

/// What stands for a hidden value, as [`Redaction`](crate::Redaction) writes it.
enum Hidden<'a> {
    Bare,
    Hash { key: &'a str },
}

impl<'a> Hidden<'a> {
    fn read(value: &'a Attribute<'_>) -> Option<Self> {
        let text = value.as_s()?;
        if text == "redacted" {
            return Some(Self::Bare);
        }
        let (key, hash) = text.strip_prefix("redacted:")?.rsplit_once(':')?;
        let is_hash = hash.len() == 64
            && hash
                .bytes()
                .all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        is_hash.then_some(Self::Hash { key })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{HashKeys, Redaction};

    const HEAD: &str = r#"{"order_id":{"S":"o"},"payment_token":{"S":"t"},"shipping":{"M":{"a":{"S":"1"}}},"version":{"N":"1"}}"#;

    fn hidden(list: &str, key: Option<&str>, image: &str) -> String {
        let keys = key.map(|id| {
            let secret = format!(r#"{{"current":"{id}","keys":{{"{id}":"SmVmZQ=="}}}}"#);
            HashKeys::parse(&secret).unwrap()
        });
        Redaction::new(list, keys).encode(&Image::parse(image).unwrap())
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[track_caller]
    fn check(left: &str, found: &str, expected: &Link) {
        assert_eq!(link(Some(left), Some(found)).unwrap(), *expected);
    }

    #[test]
    fn equal_images_are_a_whole_link_hidden_or_not() {
        check(HEAD, HEAD, &Link::Whole);
        check(
            HEAD,
            &HEAD.replace("{\"S\":\"o\"}", "{ \"S\": \"o\" }"),
            &Link::Whole,
        );
        let one = hidden("shipping", Some("k1"), HEAD);
        check(&one, &hidden("shipping", Some("k1"), HEAD), &Link::Whole);
        let bare = hidden("shipping", None, HEAD);
        check(&bare, &hidden("shipping", None, HEAD), &Link::Whole);
        assert_eq!(link(None, None).unwrap(), Link::Whole);
    }

    #[test]
    fn another_key_or_another_set_of_hidden_attributes_is_unverifiable_and_not_broken() {
        let one = hidden("shipping", Some("k1"), HEAD);
        let both = Link::Unverifiable(names(&["payment_token", "shipping"]));
        check(&one, &hidden("shipping", Some("k2"), HEAD), &both);
        check(&one, &hidden("shipping", Some("k:2"), HEAD), &both);
        check(&one, &hidden("shipping", None, HEAD), &both);
        check(&hidden("shipping", None, HEAD), &one, &both);
        let fewer = Link::Unverifiable(names(&["shipping"]));
        check(&one, &hidden("", Some("k1"), HEAD), &fewer);
        check(&hidden("", Some("k1"), HEAD), &one, &fewer);
    }

    #[test]
    fn a_value_that_differs_breaks_the_link_also_a_hidden_one_under_the_same_key() {
        let other = HEAD.replace(r#"{"S":"1"}"#, r#"{"S":"2"}"#);
        check(
            &hidden("shipping", Some("k1"), HEAD),
            &hidden("shipping", Some("k1"), &other),
            &Link::Broken(names(&["shipping"])),
        );
        check(
            HEAD,
            &HEAD.replace("\"N\":\"1\"", "\"N\":\"2\""),
            &Link::Broken(names(&["version"])),
        );
        // A broken attribute is not excused by a hidden one.
        check(
            &hidden("shipping", Some("k1"), HEAD),
            &hidden(
                "shipping",
                Some("k2"),
                &HEAD.replace("\"S\":\"o\"", "\"S\":\"p\""),
            ),
            &Link::Broken(names(&["order_id"])),
        );
    }

    #[test]
    fn an_attribute_that_appears_or_vanishes_between_versions_breaks_the_link() {
        let less = r#"{"order_id":{"S":"o"},"version":{"N":"1"}}"#;
        let broken = Link::Broken(names(&["payment_token", "shipping"]));
        check(HEAD, less, &broken);
        check(less, HEAD, &broken);
        let everything = Link::Broken(names(&["order_id", "version"]));
        assert_eq!(link(Some(less), None).unwrap(), everything);
        assert_eq!(link(None, Some(less)).unwrap(), everything);
    }

    #[test]
    fn a_text_that_only_looks_hidden_excuses_nothing() {
        for text in ["redacted:", "redacted:k1", "redacted:k1:abc", "REDACTED"] {
            let left = format!(r#"{{"tracking":{{"S":"{text}"}}}}"#);
            let found = r#"{"tracking":{"S":"T-1"}}"#;
            check(&left, found, &Link::Broken(names(&["tracking"])));
        }
        assert!(link(Some("{}"), Some("no image")).is_err());
    }
}
