//! Reading typed DynamoDB JSON (`{"S":"text"}`) into [`Attribute`] and [`Image`].
//!
//! A tolerant reader where the meaning is certain (an `N` sent as a JSON number keeps its digits), a strict one where it is not: a value
//! without a type tag, with two, or with the wrong inside is an error that names the path. Containers are gathered on scratch stacks and
//! moved out at their exact size, so a value costs one allocation a container and none a scalar.

use crate::attribute::Attribute;
use crate::image::Image;
use crate::json::{RawString, Scanner, Syntax};
use crate::number::is_number;
use std::borrow::Cow;
use std::cmp::Ordering;
use std::fmt;

/// Levels of `L` and `M` that are read. DynamoDB stores 32 (F-STR-15); twice that is room, and bounds the stack.
const MAX_DEPTH: usize = 64;

const S_MUST: &str = "S must hold a string";
const N_MUST: &str = "N must hold a number as a string";

/// Why something is no record or no typed value, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodeError {
    /// From the inside out: the path grows while the error rises.
    path: Vec<String>,
    what: Cow<'static, str>,
}

impl DecodeError {
    pub(crate) fn new(what: impl Into<Cow<'static, str>>) -> Self {
        Self {
            path: Vec::new(),
            what: what.into(),
        }
    }

    /// The same error one level further out.
    pub(crate) fn within(mut self, segment: impl Into<String>) -> Self {
        self.path.push(segment.into());
        self
    }

    /// What is wrong, without the place.
    #[must_use]
    pub fn what(&self) -> &str {
        &self.what
    }

    /// Where it is wrong, as `NewImage.lines[2].qty`; empty for the whole text.
    #[must_use]
    pub fn path(&self) -> String {
        let mut path = String::new();
        for segment in self.path.iter().rev() {
            if !path.is_empty() && !segment.starts_with('[') {
                path.push('.');
            }
            path.push_str(segment);
        }
        path
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            f.write_str(&self.what)
        } else {
            write!(f, "{}: {}", self.path(), self.what)
        }
    }
}

impl std::error::Error for DecodeError {}

/// Boxed while it rises: the way without an error stays small.
type Rising = Box<DecodeError>;

impl From<Syntax> for Rising {
    fn from(syntax: Syntax) -> Self {
        Box::new(DecodeError::new(format!(
            "not JSON at byte {}: {}",
            syntax.at, syntax.what
        )))
    }
}

pub(crate) fn parse_attribute(text: &str) -> Result<Attribute<'_>, DecodeError> {
    whole(text, |typed, scan| typed.value(scan, 0))
}

pub(crate) fn parse_image(text: &str) -> Result<Image<'_>, DecodeError> {
    whole(text, |typed, scan| typed.members(scan, 0))
}

fn whole<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Typed<'a>, &mut Scanner<'a>) -> Result<T, Rising>,
) -> Result<T, DecodeError> {
    let mut scan = Scanner::new(text);
    let value = read(&mut Typed::default(), &mut scan).map_err(|error| *error)?;
    scan.end().map_err(|syntax| *Rising::from(syntax))?;
    Ok(value)
}

/// The reader with its scratch stacks, made once a batch.
#[derive(Debug, Default)]
pub(crate) struct Typed<'a> {
    entries: Vec<(Cow<'a, str>, Attribute<'a>)>,
    items: Vec<Attribute<'a>>,
    texts: Vec<Cow<'a, str>>,
}

impl<'a> Typed<'a> {
    /// Reads an image of a record; the cursor stands before it. On an error the cursor is anywhere.
    pub(crate) fn image(&mut self, scan: &mut Scanner<'a>) -> Result<Image<'a>, Rising> {
        // An earlier record's error may have left halves behind.
        self.entries.clear();
        self.items.clear();
        self.texts.clear();
        if scan.peek() != Some(b'{') {
            return Err(fault("an image that is no object"));
        }
        self.members(scan, 0)
    }

    fn members(&mut self, scan: &mut Scanner<'a>, depth: usize) -> Result<Image<'a>, Rising> {
        let base = self.entries.len();
        scan.expect(b'{', "an object was expected")?;
        if !scan.eat(b'}') {
            loop {
                self.member(scan, depth)?;
                if !scan.eat(b',') {
                    scan.expect(b'}', "a comma or the end of the object was expected")?;
                    break;
                }
            }
        }
        let mut entries: Vec<_> = self.entries.drain(base..).collect();
        entries.sort_unstable_by(|(a, _), (b, _)| by_bytes(a, b));
        for pair in entries.windows(2) {
            if let [(name, _), (next, _)] = pair
                && name == next
            {
                let error = DecodeError::new("an attribute that is named twice");
                return Err(Box::new(error.within(name.as_ref())));
            }
        }
        Ok(Image::from_sorted(entries))
    }

    fn member(&mut self, scan: &mut Scanner<'a>, depth: usize) -> Result<(), Rising> {
        let name = match scan.plain_string(b':') {
            Some(name) => Cow::Borrowed(name),
            None => {
                let name = scan.string()?.resolve()?;
                scan.expect(b':', "a colon was expected")?;
                name
            }
        };
        if let Some(value) = plain_scalar(scan) {
            self.entries.push((name, value));
            return Ok(());
        }
        match self.value(scan, depth) {
            Ok(value) => {
                self.entries.push((name, value));
                Ok(())
            }
            Err(error) => Err(error.within(name.as_ref()).into()),
        }
    }

    fn value(&mut self, scan: &mut Scanner<'a>, depth: usize) -> Result<Attribute<'a>, Rising> {
        if depth > MAX_DEPTH {
            return Err(fault("nested too deeply"));
        }
        let value = self.tagged(scan, depth)?;
        if scan.eat(b'}') {
            return Ok(value);
        }
        Err(if scan.eat(b',') {
            fault("a value with more than one type tag")
        } else {
            Rising::from(scan.syntax("the end of the object was expected"))
        })
    }

    fn tagged(&mut self, scan: &mut Scanner<'a>, depth: usize) -> Result<Attribute<'a>, Rising> {
        if !scan.eat(b'{') {
            return Err(fault("a value that is no object with a type tag"));
        }
        if scan.eat(b'}') {
            return Err(fault("a value without a type tag"));
        }
        let tag = scan.string()?;
        scan.expect(b':', "a colon was expected")?;
        Ok(match tag.text {
            "S" => Attribute::S(text(scan, S_MUST)?),
            "N" => Attribute::N(digits(scan, N_MUST)?),
            "B" => Attribute::B(text(scan, "B must hold base64 as a string")?),
            "BOOL" if scan.word("true") => Attribute::Bool(true),
            "BOOL" if scan.word("false") => Attribute::Bool(false),
            "BOOL" => return Err(fault("BOOL must hold true or false")),
            "NULL" if scan.word("true") => Attribute::Null,
            "NULL" => return Err(fault("NULL must hold true")),
            "M" if scan.peek() == Some(b'{') => Attribute::M(self.members(scan, depth + 1)?),
            "M" => return Err(fault("M must hold an object")),
            "L" => Attribute::L(self.list(scan, depth + 1)?),
            "SS" => Attribute::Ss(self.set(scan, "SS must hold a list of strings", text)?),
            "NS" => Attribute::Ns(self.set(
                scan,
                "NS must hold a list of numbers as strings",
                digits,
            )?),
            "BS" => Attribute::Bs(self.set(scan, "BS must hold a list of base64 strings", text)?),
            other => {
                return Err(Box::new(DecodeError::new(format!(
                    "the unknown type tag {other:?}"
                ))));
            }
        })
    }

    fn list(&mut self, scan: &mut Scanner<'a>, depth: usize) -> Result<Vec<Attribute<'a>>, Rising> {
        if !scan.eat(b'[') {
            return Err(fault("L must hold a list"));
        }
        let base = self.items.len();
        if !scan.eat(b']') {
            loop {
                let place = self.items.len() - base;
                let item = self
                    .value(scan, depth)
                    .map_err(|error| error.within(format!("[{place}]")))?;
                self.items.push(item);
                if !scan.eat(b',') {
                    scan.expect(b']', "a comma or the end of the list was expected")?;
                    break;
                }
            }
        }
        Ok(self.items.drain(base..).collect())
    }

    fn set(
        &mut self,
        scan: &mut Scanner<'a>,
        what: &'static str,
        read: impl Fn(&mut Scanner<'a>, &'static str) -> Result<Cow<'a, str>, Rising>,
    ) -> Result<Vec<Cow<'a, str>>, Rising> {
        if !scan.eat(b'[') {
            return Err(fault(what));
        }
        if !scan.eat(b']') {
            loop {
                self.texts.push(read(scan, what)?);
                if !scan.eat(b',') {
                    scan.expect(b']', "a comma or the end of the set was expected")?;
                    break;
                }
            }
        }
        let mut members: Vec<_> = self.texts.drain(..).collect();
        members.sort_unstable();
        Ok(members)
    }
}

/// The short way for what most values are, spelled as machines spell it: `{"S":"..."}` or `{"N":"..."}` without an escape. On `None`
/// nothing is consumed.
#[inline(always)]
fn plain_scalar<'a>(scan: &mut Scanner<'a>) -> Option<Attribute<'a>> {
    let start = scan.at();
    let is_text = scan.eat_exactly(b"{\"S\":");
    if !is_text && !scan.eat_exactly(b"{\"N\":") {
        return None;
    }
    let Some(plain) = scan.plain_string(b'}').map(Cow::Borrowed) else {
        scan.rewind(start);
        return None;
    };
    Some(if is_text {
        Attribute::S(plain)
    } else {
        Attribute::N(plain)
    })
}

#[inline]
fn text<'a>(scan: &mut Scanner<'a>, what: &'static str) -> Result<Cow<'a, str>, Rising> {
    if scan.peek() != Some(b'"') {
        return Err(fault(what));
    }
    Ok(scan.string().and_then(RawString::resolve)?)
}

/// Digits as text, or a bare JSON number, whose digits are kept as they stand.
fn digits<'a>(scan: &mut Scanner<'a>, what: &'static str) -> Result<Cow<'a, str>, Rising> {
    if scan.peek() == Some(b'"') {
        return text(scan, what);
    }
    let number = scan.number();
    if !is_number(number) {
        return Err(fault(what));
    }
    Ok(Cow::Borrowed(number))
}

/// The order of texts. The first byte settles most pairs of names, without the call that comparing whole texts costs.
#[inline]
fn by_bytes(a: &str, b: &str) -> Ordering {
    a.as_bytes()
        .first()
        .cmp(&b.as_bytes().first())
        .then_with(|| a.cmp(b))
}

#[cold]
fn fault(what: &'static str) -> Rising {
    Box::new(DecodeError::new(what))
}
