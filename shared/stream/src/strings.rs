//! The insides of JSON strings: where they end, eight bytes a step, and what their escapes mean.
//!
//! Most of an event is short strings, so this is where reading spends its time. Start at [`crate::json`], which uses it.

const ONES: u64 = u64::MAX / 0xff;
const HIGH: u64 = ONES * 0x80;
const QUOTES: u64 = ONES * b'"' as u64;
const BACKSLASHES: u64 = ONES * b'\\' as u64;
const SPACES: u64 = ONES * b' ' as u64;

// The classic tests for a zero byte and for a byte below n: false hits only ever lie above the first true one.
const fn has_zero(word: u64) -> u64 {
    word.wrapping_sub(ONES) & !word & HIGH
}

const fn has_control(word: u64) -> u64 {
    word.wrapping_sub(SPACES) & !word & HIGH
}

/// The offset of the first hit at or after `at`, eight bytes a step; behind the last whole word the offset of that rest.
#[inline(always)]
fn find_in_words(bytes: &[u8], mut at: usize, hits: impl Fn(u64) -> u64) -> usize {
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let hits = hits(u64::from_le_bytes(*chunk));
        if hits != 0 {
            return at + (hits.trailing_zeros() / 8) as usize;
        }
        at += 8;
    }
    at
}

/// The offset of the first quote, backslash or control character at or after `at`.
#[inline]
pub(crate) fn plain_end(bytes: &[u8], at: usize) -> usize {
    let special = |word| has_zero(word ^ QUOTES) | has_zero(word ^ BACKSLASHES) | has_control(word);
    let mut at = find_in_words(bytes, at, special);
    while let Some(&byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..=0x1f) {
            break;
        }
        at += 1;
    }
    at
}

/// The offset behind a string whose opening quote is at `start`, without looking at its characters; `None` if it has no end.
#[inline]
pub(crate) fn string_end(bytes: &[u8], start: usize) -> Option<usize> {
    let mut at = start + 1;
    loop {
        at = find_in_words(bytes, at, |word| {
            has_zero(word ^ QUOTES) | has_zero(word ^ BACKSLASHES)
        });
        match bytes.get(at) {
            Some(b'"') => return Some(at + 1),
            Some(b'\\') => at += 2,
            Some(_) => at += 1,
            None => return None,
        }
    }
}

/// Resolves escapes; `None` for an unknown one or half a surrogate pair.
pub(crate) fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(cut) = rest.find('\\') {
        out.push_str(rest.get(..cut)?);
        let mut chars = rest.get(cut + 1..)?.chars();
        out.push(match chars.next()? {
            same @ ('"' | '\\' | '/') => same,
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'u' => {
                let unit = hex_unit(&mut chars)?;
                if (0xd800..0xdc00).contains(&unit) {
                    let (backslash, u) = (chars.next()?, chars.next()?);
                    let low = hex_unit(&mut chars)?;
                    if (backslash, u) != ('\\', 'u') || !(0xdc00..0xe000).contains(&low) {
                        return None;
                    }
                    char::from_u32(0x1_0000 + ((unit - 0xd800) << 10) + (low - 0xdc00))?
                } else {
                    char::from_u32(unit)?
                }
            }
            _ => return None,
        });
        rest = chars.as_str();
    }
    out.push_str(rest);
    Some(out)
}

fn hex_unit(chars: &mut std::str::Chars<'_>) -> Option<u32> {
    (0..4).try_fold(0, |unit, _| Some(unit * 16 + chars.next()?.to_digit(16)?))
}
