//! Typed values back to text, always the same text for the same value: compact, names sorted by UTF-8 bytes at every level, sets sorted,
//! digits and base64 untouched. Control characters and the two Unicode line separators are escaped, so the text is one line for every
//! reader, also for those that break lines at U+2028.

use crate::attribute::Attribute;
use crate::image::Image;
use std::borrow::Cow;
use std::fmt::Write as _;

impl Attribute<'_> {
    /// Appends the value as canonical DynamoDB JSON.
    pub fn write_canonical(&self, out: &mut String) {
        out.push_str("{\"");
        out.push_str(self.kind());
        out.push_str("\":");
        match self {
            Self::S(text) | Self::N(text) | Self::B(text) => write_text(text, out),
            Self::Bool(truth) => out.push_str(if *truth { "true" } else { "false" }),
            Self::Null => out.push_str("true"),
            Self::L(items) => write_list(items.iter(), out, |item, out| item.write_canonical(out)),
            Self::M(members) => members.write_canonical(out),
            Self::Ss(members) | Self::Ns(members) | Self::Bs(members) => write_set(members, out),
        }
        out.push('}');
    }

    /// The value as canonical DynamoDB JSON.
    #[must_use]
    pub fn to_canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }
}

impl Image<'_> {
    /// Appends the image as canonical DynamoDB JSON.
    pub fn write_canonical(&self, out: &mut String) {
        out.push('{');
        for (place, (name, value)) in self.iter().enumerate() {
            if place > 0 {
                out.push(',');
            }
            write_text(name, out);
            out.push(':');
            value.write_canonical(out);
        }
        out.push('}');
    }

    /// The image as canonical DynamoDB JSON.
    ///
    /// ```
    /// # use sagaline_stream::Image;
    /// let image = Image::parse(r#" {"b": {"SS": ["y", "x"]}, "a": {"N": "1.50"}} "#)?;
    /// assert_eq!(image.to_canonical(), r#"{"a":{"N":"1.50"},"b":{"SS":["x","y"]}}"#);
    /// # Ok::<(), sagaline_stream::DecodeError>(())
    /// ```
    #[must_use]
    pub fn to_canonical(&self) -> String {
        let mut out = String::new();
        self.write_canonical(&mut out);
        out
    }
}

fn write_list<T>(items: impl Iterator<Item = T>, out: &mut String, write: impl Fn(T, &mut String)) {
    out.push('[');
    for (place, item) in items.enumerate() {
        if place > 0 {
            out.push(',');
        }
        write(item, out);
    }
    out.push(']');
}

/// Decoded sets are sorted already; those built by hand may not be.
fn write_set(members: &[Cow<'_, str>], out: &mut String) {
    let mut sorted: Vec<&str> = members.iter().map(AsRef::as_ref).collect();
    sorted.sort_unstable();
    write_list(sorted.into_iter(), out, write_text);
}

/// Writes a JSON string.
fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut plain_from = 0;
    for (at, character) in text.char_indices() {
        if !matches!(
            character,
            '"' | '\\' | '\0'..='\x1f' | '\u{2028}' | '\u{2029}'
        ) {
            continue;
        }
        out.push_str(text.get(plain_from..at).unwrap_or_default());
        plain_from = at + character.len_utf8();
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // Writing to a `String` cannot fail.
            other => drop(write!(out, "\\u{:04x}", u32::from(other))),
        }
    }
    out.push_str(text.get(plain_from..).unwrap_or_default());
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_text_is_one_line_and_means_the_same() {
        let text = "quote\" back\\ tab\t nl\n cr\r nul\0 bell\u{7} bs\u{8} ff\u{c} del\u{7f} ls\u{2028} ps\u{2029} ä 😀";
        let canonical = Attribute::S(text.into()).to_canonical();
        assert_eq!(
            canonical,
            "{\"S\":\"quote\\\" back\\\\ tab\\t nl\\n cr\\r nul\\u0000 bell\\u0007 bs\\b ff\\f del\u{7f} ls\\u2028 ps\\u2029 ä 😀\"}"
        );
        assert_eq!(Attribute::parse(&canonical), Ok(Attribute::S(text.into())));
    }

    #[test]
    fn names_are_sorted_by_their_bytes_at_every_level_and_sets_too() {
        let text = r#"{"é":{"BOOL":false},"z":{"M":{"b":{"NS":["10","9"]},"B":{"B":"AA=="},"a":{"L":[]}}},"Z":{"SS":["b","a"]},"":{"S":""}}"#;
        let expected = r#"{"":{"S":""},"Z":{"SS":["a","b"]},"z":{"M":{"B":{"B":"AA=="},"a":{"L":[]},"b":{"NS":["10","9"]}}},"é":{"BOOL":false}}"#;
        assert_eq!(
            Image::parse(text)
                .map(|image| image.to_canonical())
                .as_deref(),
            Ok(expected)
        );
        assert_eq!(
            Attribute::Ss(vec!["b".into(), "a".into()]).to_canonical(),
            r#"{"SS":["a","b"]}"#
        );
    }
}
