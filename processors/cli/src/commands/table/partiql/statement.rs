//! What a PartiQL SELECT reads: which table or index, and whether it names a partition.
//!
//! Only as much of the language as that takes. DynamoDB reads everything unless the condition names the partition key with `=` or `IN`
//! (DynamoDB guide, "PartiQL select statements"); `OR` needs it on both sides.

use crate::error::{Code, CommandError};
use sagaline_store::{Index, PK};

/// A SELECT.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Statement {
    table: String,
    pub(super) index: Option<String>,
    condition: Vec<Token>,
}

/// How much a statement reads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Reads {
    /// One partition, or a few.
    Partitions,
    /// All of the table or index.
    Everything {
        /// What is missing.
        why: String,
    },
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Token {
    /// A name or keyword, quoted or not.
    Word { text: String, quoted: bool },
    /// A literal: string, number, parameter.
    Literal,
    /// Everything else, as `=`, `(`, `>=`.
    Sign(String),
}

impl Token {
    fn is_keyword(&self, keyword: &str) -> bool {
        matches!(self, Self::Word { text, quoted: false } if text.eq_ignore_ascii_case(keyword))
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self, Self::Sign(text) if text == sign)
    }

    fn is_name(&self, name: &str) -> bool {
        matches!(self, Self::Word { text, .. } if text == name)
    }
}

impl Statement {
    /// # Errors
    /// Anything but a SELECT, and what has no FROM.
    pub(super) fn parse(text: &str) -> Result<Self, CommandError> {
        let tokens = tokens(text)?;
        let first = tokens
            .first()
            .ok_or_else(|| bad("the statement is empty"))?;
        if !first.is_keyword("SELECT") {
            let verb = match first {
                Token::Word { text, .. } => text.to_ascii_uppercase(),
                Token::Literal | Token::Sign(_) => "this".to_owned(),
            };
            return Err(bad(format!("{verb} is no SELECT"))
                .advise("orders are written by `sagaline create`, `cancel`, `report` and `stock`: a write past their commit would leave an order without its version, history, request guard and copies"));
        }
        if tokens.iter().any(|token| token.is_sign(";")) {
            return Err(bad("one statement at a time, without ';'"));
        }
        let from = tokens.iter().position(|token| token.is_keyword("FROM"));
        let from = from.ok_or_else(|| bad("the statement has no FROM"))?;
        let mut rest = tokens.into_iter().skip(from + 1);
        let mut word = |what: &str| match rest.next() {
            Some(Token::Word { text, .. }) => Ok(text),
            Some(Token::Literal | Token::Sign(_)) | None => {
                Err(bad(format!("{what} is missing behind FROM"))
                    .advise("write FROM \"table\" or FROM \"table\".\"index\", in double quotes"))
            }
        };
        let table = word("the table")?;
        let rest: Vec<_> = rest.collect();
        let dotted = rest.first().is_some_and(|token| token.is_sign("."));
        let index = match (dotted, rest.get(1)) {
            (true, Some(Token::Word { text, .. })) => Some(text.clone()),
            (true, _) => return Err(bad("the index is missing behind the table's dot")),
            (false, _) => None,
        };
        let condition = rest
            .into_iter()
            .skip_while(|token| !token.is_keyword("WHERE"))
            .skip(1)
            .take_while(|token| !token.is_keyword("ORDER"))
            .collect();
        Ok(Self {
            table,
            index,
            condition,
        })
    }

    /// # Errors
    /// Another table, or no index of it.
    pub(super) fn reads(&self, table: &str) -> Result<Reads, CommandError> {
        if self.table != table {
            return Err(bad(format!(
                "the statement reads {}, the table is {table}",
                self.table
            ))
            .advise(format!(
                "write FROM \"{table}\", or pass --table {}",
                self.table
            )));
        }
        let key = match &self.index {
            None => PK,
            Some(name) => Index::ALL
                .into_iter()
                .find(|index| index.name() == name)
                .map(Index::partition)
                .ok_or_else(|| {
                    bad(format!("{table} has no index {name}"))
                        .advise("its indexes are due, by_status and by_updated")
                })?,
        };
        if names_partition(&self.condition, key) {
            return Ok(Reads::Partitions);
        }
        let place = self.index.as_deref().map_or("the table", |_| "the index");
        let why = if self.condition.is_empty() {
            format!("there is no WHERE, so all of {place} is read")
        } else {
            format!(
                "{place}'s partition key {key} is not compared with = or IN on every side of an OR, so all of {place} is read"
            )
        };
        Ok(Reads::Everything { why })
    }
}

/// Whether every way to fulfil a condition names the partition.
fn names_partition(condition: &[Token], key: &str) -> bool {
    let condition = unwrapped(condition);
    let alternatives = split(condition, "OR");
    if alternatives.len() > 1 {
        return alternatives
            .into_iter()
            .all(|one| names_partition(one, key));
    }
    let parts = split(condition, "AND");
    if parts.len() > 1 {
        return parts.into_iter().any(|one| names_partition(one, key));
    }
    match condition {
        [name, sign, Token::Literal] => name.is_name(key) && sign.is_sign("="),
        [name, verb, ..] if name.is_name(key) => verb.is_keyword("IN"),
        [Token::Literal, sign, name] => name.is_name(key) && sign.is_sign("="),
        _ => false,
    }
}

/// Without parentheses around the whole.
fn unwrapped(condition: &[Token]) -> &[Token] {
    let [open, inside @ .., close] = condition else {
        return condition;
    };
    if !open.is_sign("(") || !close.is_sign(")") {
        return condition;
    }
    let mut depth = 0_i32;
    for token in inside {
        depth += change(token);
        if depth < 0 {
            return condition;
        }
    }
    unwrapped(inside)
}

/// The parts between a keyword outside all parentheses. The AND of a BETWEEN is none.
fn split<'a>(condition: &'a [Token], keyword: &str) -> Vec<&'a [Token]> {
    let (mut depth, mut between) = (0_i32, false);
    condition
        .split(|token| {
            depth += change(token);
            if depth != 0 {
                return false;
            }
            if token.is_keyword("BETWEEN") {
                between = true;
            }
            if between && token.is_keyword("AND") {
                between = false;
                return false;
            }
            token.is_keyword(keyword)
        })
        .collect()
}

fn change(token: &Token) -> i32 {
    if token.is_sign("(") || token.is_sign("[") {
        1
    } else if token.is_sign(")") || token.is_sign("]") {
        -1
    } else {
        0
    }
}

fn tokens(text: &str) -> Result<Vec<Token>, CommandError> {
    let mut tokens = Vec::new();
    let mut rest = text.trim();
    while let Some(first) = rest.chars().next() {
        let (token, after) = match first {
            blank if blank.is_whitespace() => {
                rest = rest.trim_start();
                continue;
            }
            '\'' => (Token::Literal, quoted(rest, '\'')?.1),
            '"' => {
                let (text, after) = quoted(rest, '"')?;
                (Token::Word { text, quoted: true }, after)
            }
            '?' => (Token::Literal, cut(rest, 1)),
            digit if digit.is_ascii_digit() => {
                let end = rest
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '.')
                    .unwrap_or(rest.len());
                (Token::Literal, cut(rest, end))
            }
            letter if letter.is_alphanumeric() || letter == '_' => {
                let end = rest
                    .find(|c: char| !c.is_alphanumeric() && c != '_')
                    .unwrap_or(rest.len());
                let text = rest.get(..end).unwrap_or_default().to_owned();
                (
                    Token::Word {
                        text,
                        quoted: false,
                    },
                    cut(rest, end),
                )
            }
            sign => (Token::Sign(sign.to_string()), cut(rest, sign.len_utf8())),
        };
        tokens.push(token);
        rest = after;
    }
    Ok(tokens)
}

/// The text up to the closing mark, a doubled mark inside being one, and what follows.
fn quoted(text: &str, mark: char) -> Result<(String, &str), CommandError> {
    let mut inside = String::new();
    let mut rest = cut(text, mark.len_utf8());
    loop {
        let end = rest
            .find(mark)
            .ok_or_else(|| bad(format!("a {mark} is not closed")))?;
        inside.push_str(rest.get(..end).unwrap_or_default());
        rest = cut(rest, end + mark.len_utf8());
        let Some(after) = rest.strip_prefix(mark) else {
            return Ok((inside, rest));
        };
        inside.push(mark);
        rest = after;
    }
}

fn cut(text: &str, at: usize) -> &str {
    text.get(at..).unwrap_or_default()
}

fn bad(what: impl Into<String>) -> CommandError {
    CommandError::new(Code::BadInput, what).advise("see `sagaline table partiql --help`")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn reads(text: &str) -> Reads {
        Statement::parse(text)
            .unwrap()
            .reads("shop-orders")
            .unwrap()
    }

    #[test]
    fn a_statement_that_names_its_partition_is_no_scan() {
        for condition in [
            "PK = 'ORDER#o-1'",
            "PK='ORDER#o-1' AND SK = 'ORDER#DETAIL'",
            "SK = 'x' and pk = 'y' and PK = 'z'",
            "'ORDER#o-1' = PK",
            "(PK = 'a' OR PK = 'b')",
            "PK IN ['a', 'b']",
            "PK in ('a', 'b') AND version BETWEEN 1 AND 3",
            "version BETWEEN 1 AND 3 AND PK = 'it''s'",
            "\"PK\" = ?",
            "((PK = 'a') AND (x = 1 OR y = 2))",
        ] {
            let text = format!("SELECT * FROM \"shop-orders\" WHERE {condition}");
            assert_eq!(reads(&text), Reads::Partitions, "{text}");
        }
        let index = "select order_id from \"shop-orders\".\"by_status\" where status_pk = 'STATUS#UNPAID#0' ORDER BY status_sk DESC";
        assert_eq!(reads(index), Reads::Partitions);
    }

    #[test]
    fn a_statement_that_names_no_partition_scans() {
        for condition in [
            "",
            "WHERE SK = 'ORDER#DETAIL'",
            "WHERE PK > 'a'",
            "WHERE pk = 'a'",
            "WHERE begins_with(PK, 'ORDER#')",
            "WHERE PK = 'a' OR total_minor > 5",
            "WHERE NOT PK = 'a'",
            "WHERE NOT (PK = 'a')",
            "WHERE PK BETWEEN 'a' AND 'b'",
            "WHERE name = 'PK = ''a'''",
            "WHERE PK = SK",
            "WHERE contains(\"x\", 'PK') AND status_pk = 'a'",
        ] {
            let text = format!("SELECT * FROM \"shop-orders\" {condition}");
            assert!(matches!(reads(&text), Reads::Everything { .. }), "{text}");
        }
        // The table's key is none of the index's.
        let index = "SELECT * FROM \"shop-orders\".due WHERE PK = 'ORDER#o-1'";
        assert!(matches!(reads(index), Reads::Everything { why } if why.contains("due_pk")));
    }

    #[test]
    fn what_writes_or_is_no_statement_is_refused() {
        let check = |text: &str, part: &str| {
            let error = Statement::parse(text)
                .and_then(|statement| statement.reads("shop-orders"))
                .unwrap_err();
            assert!(error.to_string().contains(part), "{text}: {error}");
        };
        check(
            "UPDATE \"shop-orders\" SET x = 1 WHERE PK = 'a'",
            "UPDATE is no SELECT",
        );
        check("delete from \"shop-orders\"", "history, request guard");
        check("INSERT INTO x VALUE {}", "INSERT is no SELECT");
        check("", "empty");
        check("SELECT 1", "no FROM");
        check("SELECT * FROM", "the table is missing");
        check("SELECT * FROM other WHERE PK = 'a'", "pass --table other");
        check(
            "SELECT * FROM \"shop-orders\".nope WHERE PK = 'a'",
            "has no index nope",
        );
        check("SELECT * FROM \"shop-orders\". WHERE", "has no index WHERE");
        check("SELECT * FROM \"shop-orders", "not closed");
        check(
            "SELECT * FROM \"shop-orders\" WHERE PK = 'a'; DELETE FROM x",
            "one statement",
        );
    }
}
