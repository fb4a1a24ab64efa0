//! JSON text, one line for every reader: all control characters, those above ASCII too, and the two Unicode line separators are escaped. Some
//! readers end a line at U+0085 as well.

use std::fmt::Write as _;

/// Appends `text` as a JSON string.
pub(crate) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    let mut plain_from = 0;
    for (at, byte) in text.bytes().enumerate() {
        // U+2028 and U+2029 are E2 80 A8 and E2 80 A9; no other byte of a character of several bytes needs a look.
        let width = match byte {
            b'"' | b'\\' | 0..=0x1f | 0x7f => 1,
            // U+0080 to U+009F are C2 80 to C2 9F.
            0xc2 if matches!(text.as_bytes().get(at + 1), Some(0x80..=0x9f)) => 2,
            0xe2 if text.as_bytes().get(at + 1) == Some(&0x80)
                && matches!(text.as_bytes().get(at + 2), Some(0xa8 | 0xa9)) =>
            {
                3
            }
            _ => continue,
        };
        out.push_str(text.get(plain_from..at).unwrap_or_default());
        plain_from = at + width;
        match byte {
            b'"' => out.push_str("\\\""),
            b'\\' => out.push_str("\\\\"),
            b'\n' => out.push_str("\\n"),
            b'\r' => out.push_str("\\r"),
            b'\t' => out.push_str("\\t"),
            0xe2 if text.as_bytes().get(at + 2) == Some(&0xa8) => out.push_str("\\u2028"),
            0xe2 => out.push_str("\\u2029"),
            0xc2 => drop(write!(
                out,
                "\\u{:04x}",
                text.as_bytes().get(at + 1).copied().unwrap_or_default()
            )),
            // Writing to a `String` cannot fail.
            control => drop(write!(out, "\\u{control:04x}")),
        }
    }
    out.push_str(text.get(plain_from..).unwrap_or_default());
    out.push('"');
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn any_text_comes_back_from_its_one_line(text in any::<String>()) {
            let text = format!("{text}\u{2028}\u{2029}â\n\0\u{7f}\u{80}\u{85}\u{9f}\u{a0}é");
            let mut out = String::new();
            write_text(&text, &mut out);
            let one_line = !out.contains(|character: char| character.is_control() || matches!(character, '\u{2028}' | '\u{2029}'));
            prop_assert!(one_line);
            prop_assert_eq!(serde_json::from_str::<String>(&out).ok(), Some(text));
        }
    }
}
