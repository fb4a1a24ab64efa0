//! The format of a time inside a key: what of it keeps text order from being time order.

/// A piece of a format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Token {
    /// Digits: how many, or `None` for as many as it takes; and which unit, 0 the year to 6 the part of a second.
    Digits(Option<usize>, usize),
    /// The name of a month, or before and after noon.
    Word(usize),
    /// The distance from UTC.
    Offset,
    /// Itself.
    Text(char),
}

/// The tokens, the longest first where one begins like another.
const TOKENS: [(&str, Token); 15] = [
    ("YYYY", Token::Digits(Some(4), 0)),
    ("MMM", Token::Word(1)),
    ("MM", Token::Digits(Some(2), 1)),
    ("DD", Token::Digits(Some(2), 2)),
    ("hh", Token::Digits(Some(2), 3)),
    ("mm", Token::Digits(Some(2), 4)),
    ("ss", Token::Digits(Some(2), 5)),
    ("M", Token::Digits(None, 1)),
    ("D", Token::Digits(None, 2)),
    ("h", Token::Digits(None, 3)),
    ("m", Token::Digits(None, 4)),
    ("s", Token::Digits(None, 5)),
    ("A", Token::Word(3)),
    ("±hh:mm", Token::Offset),
    ("±hhmm", Token::Offset),
];

/// Takes a format apart.
pub(super) fn tokens(format: &str) -> Vec<Token> {
    let mut found = Vec::new();
    let mut rest = format;
    while let Some(first) = rest.chars().next() {
        let fraction = rest.len() - rest.trim_start_matches('S').len();
        let (length, token) = if fraction > 0 {
            (fraction, Token::Digits(Some(fraction), 6))
        } else {
            TOKENS
                .iter()
                .find(|(text, _)| rest.starts_with(text))
                .map_or((first.len_utf8(), Token::Text(first)), |(text, token)| {
                    (text.len(), token.clone())
                })
        };
        found.push(token);
        rest = rest.get(length..).unwrap_or_default();
    }
    found
}

/// The most bytes of a time in this format.
pub(super) fn max_bytes(format: &str) -> usize {
    tokens(format)
        .iter()
        .map(|token| match token {
            Token::Digits(width, _) => width.unwrap_or(2),
            // "Sept" is the longest abbreviation.
            Token::Word(_) => 4,
            Token::Offset => 6,
            Token::Text(character) => character.len_utf8(),
        })
        .sum()
}

/// True if a number of it has no leading zero, so that 9 comes after 10.
pub(super) fn varies(format: &str) -> bool {
    tokens(format)
        .iter()
        .any(|token| matches!(token, Token::Digits(None, _)))
}

/// True if it tells its distance from UTC.
pub(super) fn has_offset(format: &str) -> bool {
    tokens(format).contains(&Token::Offset)
}

/// True unless it goes from the year down, unit by unit, in digits.
pub(super) fn is_out_of_order(format: &str) -> bool {
    let tokens = tokens(format);
    let words = tokens.iter().any(|token| matches!(token, Token::Word(_)));
    let units = tokens.iter().filter_map(|token| match token {
        Token::Digits(_, unit) => Some(*unit),
        Token::Word(_) | Token::Offset | Token::Text(_) => None,
    });
    let down = units.clone().enumerate().all(|(at, unit)| at == unit);
    words || !down || units.count() == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_judged_by_their_tokens() {
        let check = |format: &str, expected: (bool, bool, bool), bytes: usize| {
            let found = (varies(format), has_offset(format), is_out_of_order(format));
            assert_eq!(found, expected, "{format}: varies, offset, out of order");
            assert_eq!(max_bytes(format), bytes, "{format}");
        };
        check("YYYYMMDDThhmmss.SSSZ", (false, false, false), 20);
        check("YYYY-MM-DD", (false, false, false), 10);
        check("YYYY-MM-DDThh:mm:ss±hh:mm", (false, true, false), 25);
        check("YYYY-M-D h:m", (true, false, false), 16);
        check("DD/MM/YYYY", (false, false, true), 10);
        check("MMM DD YYYY", (false, false, true), 12);
        check("YYYYMMDDhhA", (false, false, true), 14);
        check("seconds", (true, false, true), 9);
        check("", (false, false, true), 0);
    }
}
