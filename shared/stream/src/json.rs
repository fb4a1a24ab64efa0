//! A small JSON scanner over borrowed text.
//!
//! Two needs that a general deserializer does not serve are met here: a value can be *stepped over* by its brackets and quotes alone, so
//! that a broken record never costs its neighbours, and numbers keep the digits they were sent with. It knows nothing of DynamoDB; the
//! typed values are read in [`crate::typed`].

use crate::strings::{plain_end, string_end, unescape};
use std::borrow::Cow;

const UNENDED: &str = "a string without an end";

/// Where and why the text is not JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Syntax {
    /// Byte offset in the scanned text.
    pub(crate) at: usize,
    pub(crate) what: &'static str,
}

/// A string as it stands between its quotes, escapes not yet resolved.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RawString<'a> {
    pub(crate) text: &'a str,
    escaped: bool,
    at: usize,
}

impl<'a> RawString<'a> {
    /// The text with escapes resolved; borrowed when there are none.
    #[inline]
    pub(crate) fn resolve(self) -> Result<Cow<'a, str>, Syntax> {
        if self.escaped {
            let what = "a bad escape in a string";
            unescape(self.text)
                .map(Cow::Owned)
                .ok_or(Syntax { at: self.at, what })
        } else {
            Ok(Cow::Borrowed(self.text))
        }
    }
}

/// A cursor over one JSON text.
#[derive(Debug)]
pub(crate) struct Scanner<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Scanner<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// Starts over with another text.
    pub(crate) fn load(&mut self, text: &'a str) {
        self.text = text;
        self.at = 0;
    }

    pub(crate) fn at(&self) -> usize {
        self.at
    }

    pub(crate) fn rewind(&mut self, at: usize) {
        self.at = at;
    }

    pub(crate) fn syntax(&self, what: &'static str) -> Syntax {
        Syntax { at: self.at, what }
    }

    #[inline]
    fn byte(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The next byte that is no white space, not consumed.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        // White space is rare in what machines write: one comparison tells.
        match self.byte() {
            Some(byte) if byte <= b' ' => self.peek_behind_space(),
            other => other,
        }
    }

    #[cold]
    fn peek_behind_space(&mut self) -> Option<u8> {
        loop {
            match self.byte() {
                Some(b' ' | b'\n' | b'\r' | b'\t') => self.at += 1,
                other => return other,
            }
        }
    }

    /// Consumes exactly these bytes if they come next.
    #[inline]
    pub(crate) fn eat_exactly<const N: usize>(&mut self, wanted: &[u8; N]) -> bool {
        let rest = self.text.as_bytes().get(self.at..);
        let there = rest.and_then(|rest| rest.first_chunk::<N>()) == Some(wanted);
        self.at += if there { N } else { 0 };
        there
    }

    /// Consumes `wanted` if it comes next.
    #[inline]
    pub(crate) fn eat(&mut self, wanted: u8) -> bool {
        let there = self.peek() == Some(wanted);
        self.at += usize::from(there);
        there
    }

    #[inline]
    pub(crate) fn expect(&mut self, wanted: u8, what: &'static str) -> Result<(), Syntax> {
        if self.eat(wanted) {
            Ok(())
        } else {
            Err(self.syntax(what))
        }
    }

    /// Nothing but white space may follow.
    pub(crate) fn end(&mut self) -> Result<(), Syntax> {
        if self.peek().is_none() {
            Ok(())
        } else {
            Err(self.syntax("text after the end of the value"))
        }
    }

    /// Consumes a string without escapes and, directly behind it, `then`, if that is what comes next. The short way for text as machines
    /// write it: on `None` nothing is consumed, and the long way finds out why.
    #[inline(always)]
    pub(crate) fn plain_string(&mut self, then: u8) -> Option<&'a str> {
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'"') {
            return None;
        }
        let start = self.at + 1;
        let end = plain_end(bytes, start);
        if bytes.get(end) != Some(&b'"') || bytes.get(end + 1) != Some(&then) {
            return None;
        }
        self.at = end + 2;
        self.text.get(start..end)
    }

    /// Reads a string; the cursor stands at or before its opening quote.
    #[inline]
    pub(crate) fn string(&mut self) -> Result<RawString<'a>, Syntax> {
        self.expect(b'"', "a string was expected")?;
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut at = start;
        let mut escaped = false;
        loop {
            at = plain_end(bytes, at);
            match bytes.get(at) {
                Some(b'"') => break,
                Some(b'\\') => {
                    escaped = true;
                    at += 2;
                }
                Some(_) => {
                    return Err(Syntax {
                        at,
                        what: "a control character in a string",
                    });
                }
                None => {
                    return Err(Syntax {
                        at: start,
                        what: UNENDED,
                    });
                }
            }
        }
        self.at = at + 1;
        let text = self.text.get(start..at).ok_or(Syntax {
            at: start,
            what: "a broken string",
        })?;
        Ok(RawString {
            text,
            escaped,
            at: start,
        })
    }

    /// Reads what stands in the place of a number, literally. Whether it is one, the caller checks.
    pub(crate) fn number(&mut self) -> &'a str {
        self.peek();
        let start = self.at;
        while matches!(
            self.byte(),
            Some(b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E')
        ) {
            self.at += 1;
        }
        self.text.get(start..self.at).unwrap_or_default()
    }

    /// Consumes `word` (`true`, `false`, `null`) if it comes next.
    pub(crate) fn word(&mut self, word: &str) -> bool {
        self.peek();
        let there = self
            .text
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word));
        if there {
            self.at += word.len();
        }
        there
    }

    /// Walks the members of an object: `visit` gets each name with the cursor before the value, which it must consume.
    #[inline]
    pub(crate) fn members<E: From<Syntax>>(
        &mut self,
        mut visit: impl FnMut(&mut Self, RawString<'a>) -> Result<(), E>,
    ) -> Result<(), E> {
        self.expect(b'{', "an object was expected")?;
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            let name = self.string()?;
            self.expect(b':', "a colon was expected")?;
            visit(self, name)?;
            if !self.eat(b',') {
                return Ok(self.expect(b'}', "a comma or the end of the object was expected")?);
            }
        }
    }

    /// Steps over one value by its brackets and quotes and returns its text. The inside is *not* checked: that is the business of whoever
    /// reads it, and its fault must stay its own.
    pub(crate) fn step_over(&mut self) -> Result<&'a str, Syntax> {
        let first = self.peek();
        let start = self.at;
        match first {
            Some(b'"') => {
                self.at =
                    string_end(self.text.as_bytes(), self.at).ok_or_else(|| self.syntax(UNENDED))?
            }
            Some(b'{' | b'[') => self.skip_brackets()?,
            _ => self.skip_scalar()?,
        }
        self.text.get(start..self.at).ok_or(Syntax {
            at: start,
            what: "a broken value",
        })
    }

    fn skip_scalar(&mut self) -> Result<(), Syntax> {
        let start = self.at;
        while !matches!(
            self.byte(),
            None | Some(b',' | b'}' | b']' | b' ' | b'\n' | b'\r' | b'\t')
        ) {
            self.at += 1;
        }
        if self.at == start {
            Err(self.syntax("a value was expected"))
        } else {
            Ok(())
        }
    }

    /// Counts brackets of either kind together. A record in which they do not match is no JSON, and that stays its own affair.
    fn skip_brackets(&mut self) -> Result<(), Syntax> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        let mut depth = 0_usize;
        while let Some(&byte) = bytes.get(at) {
            if byte == b'"' {
                at = string_end(bytes, at).ok_or(Syntax { at, what: UNENDED })?;
                continue;
            }
            at += 1;
            // One bit tells `[` from `{` and `]` from `}`.
            match byte | 0x20 {
                b'{' => depth += 1,
                b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        self.at = at;
                        return Ok(());
                    }
                }
                _ => {}
            }
        }
        Err(Syntax {
            at,
            what: "the text ends inside a value",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_are_read_as_serde_json_reads_them() {
        for text in [
            r#""""#,
            r#""plain""#,
            r#""exactly8""#,
            r#""a longer one with a \" quote and \\ and \/ ""#,
            r#""\u00e4\ud83d\ude00 é 😀 \b\f\n\r\t""#,
            r#""\é""#,
            r#""\ud800""#,
            r#""\ud800\n""#,
            r#""\udc00""#,
            r#""\u+123""#,
            r#""\u12""#,
            "\"a\tb\"",
            "\"12345678\u{1}\"",
            "\"unterminated",
            "\"unterminated\\\"",
            "\"\\",
        ] {
            let ours = Scanner::new(text)
                .string()
                .and_then(RawString::resolve)
                .map(Cow::into_owned);
            let theirs = serde_json::from_str::<String>(text);
            assert_eq!(ours.ok(), theirs.ok(), "{text}");
        }
    }

    #[test]
    fn stepping_over_a_value_does_not_read_it() {
        #[track_caller]
        fn check(text: &str, expected: Option<&str>) {
            assert_eq!(Scanner::new(text).step_over().ok(), expected, "{text}");
        }
        check(
            r#" {"a":[1,"}\"]",tru]} , rest"#,
            Some(r#"{"a":[1,"}\"]",tru]}"#),
        );
        check(r#""a,b" ,"#, Some(r#""a,b""#));
        check("12e4]", Some("12e4"));
        check("null", Some("null"));
        check("{", None);
        check("{]", Some("{]"));
        check("[1,2", None);
        check("", None);
        check(",", None);
        check("\"a", None);
    }
}
