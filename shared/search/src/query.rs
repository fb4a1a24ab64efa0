//! Searching: free words and `field:value` filters, in one line of text.
//!
//! `cup status:CONFIRMED total_minor:1000..5000 created_at:>=2026-01-01 -user_id:u-7 attributes.gift:yes sort:-created_at`. All parts must
//! hold; a part with `-` before it must not. Values with spaces stand in double quotes. Tombstones are never found.

use crate::admin::{AdminError, alive, ask};
use crate::client::SearchClient;
use opensearch::http::Method;
use sagaline_order::Timestamp;
use serde_json::{Value, json};
use thiserror::Error;

/// What is wrong with a query, and where.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what}, at character {position}")]
pub struct QueryError {
    /// The character where the part begins, from 1.
    pub position: usize,
    /// What is wrong.
    pub what: String,
}

/// A query in the server's language.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    body: Value,
}

/// A page of what was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Page {
    /// How many orders there are in all.
    pub total: u64,
    /// The documents of this page.
    pub orders: Vec<Value>,
    /// What to pass for the next page; `None` at the end.
    pub next: Option<Value>,
}

/// How a field is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Keyword,
    Text,
    Long,
    Date,
}

/// The fields by the names they have in a query. Those of lines have their short names.
const FIELDS: [(&str, &str, Kind); 14] = [
    ("order_id", "order_id", Kind::Keyword),
    ("user_id", "user_id", Kind::Keyword),
    ("status", "status", Kind::Keyword),
    ("state", "state", Kind::Keyword),
    ("currency", "currency", Kind::Keyword),
    ("payment_id", "payment_id", Kind::Keyword),
    ("tracking", "tracking", Kind::Keyword),
    ("total_minor", "total_minor", Kind::Long),
    ("version", "version", Kind::Long),
    ("created_at", "created_at", Kind::Date),
    ("updated_at", "updated_at", Kind::Date),
    ("sku", "lines.sku", Kind::Keyword),
    ("name", "lines.name", Kind::Text),
    ("qty", "lines.qty", Kind::Long),
];

/// The fields that a free word is looked for in, beside names and skus of lines and the free attributes.
const WORD_FIELDS: [&str; 5] = ["order_id", "user_id", "payment_id", "tracking", "status"];

/// A word is looked for in nine places, and the server takes 1,024 clauses (`indices.query.bool.max_clause_count`).
const MOST_PARTS: usize = 100;

impl Query {
    /// Reads a query.
    ///
    /// # Errors
    /// [`QueryError`], with the position of the part that is wrong.
    pub fn parse(text: &str) -> Result<Self, QueryError> {
        let (mut must, mut must_not, mut sort) = (vec![alive()], Vec::new(), None);
        let parts = parts(text)?;
        if let Some(part) = parts.get(MOST_PARTS) {
            return Err(QueryError {
                position: part.position,
                what: format!("more than {MOST_PARTS} parts"),
            });
        }
        for part in parts {
            let at = |what: String| QueryError {
                position: part.position,
                what,
            };
            match part.field.as_deref() {
                Some("sort") if part.negated => {
                    return Err(at("nothing can be sorted by not".to_owned()));
                }
                Some("sort") if sort.is_some() => return Err(at("a second sort".to_owned())),
                Some("sort") => sort = Some(sorted_by(&part.value).map_err(at)?),
                Some(field) => {
                    let clause = filter(field, &part.value, part.quoted).map_err(at)?;
                    if part.negated {
                        must_not.push(clause)
                    } else {
                        must.push(clause)
                    }
                }
                None if part.negated => must_not.push(word(&part.value)),
                None => must.push(word(&part.value)),
            }
        }
        let newest = || json!({"updated_at": {"order": "desc", "missing": "_last"}});
        // The id makes the order total: paging by the last hit needs that.
        let sort = json!([sort.unwrap_or_else(newest), {"order_id": "asc"}]);
        let query = json!({"bool": {"filter": must, "must_not": must_not}});
        Ok(Self {
            body: json!({"query": query, "sort": sort, "track_total_hits": true}),
        })
    }

    /// Asks for a page of so many orders, the first or the one after `after`.
    ///
    /// # Errors
    /// [`AdminError`].
    pub async fn run(
        &self,
        client: &SearchClient,
        read_alias: &str,
        size: u32,
        after: Option<&Value>,
    ) -> Result<Page, AdminError> {
        let mut body = self.body.clone();
        if let Some(fields) = body.as_object_mut() {
            fields.insert("size".to_owned(), size.into());
            fields.extend(after.map(|after| ("search_after".to_owned(), after.clone())));
        }
        let answer = ask(
            client,
            Method::Post,
            &format!("/{read_alias}/_search"),
            Some(&body),
        )
        .await?;
        let hits = answer
            .pointer("/hits/hits")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        let full = u64::try_from(hits.len()).is_ok_and(|found| found >= u64::from(size));
        Ok(Page {
            total: answer
                .pointer("/hits/total/value")
                .and_then(Value::as_u64)
                .unwrap_or_default(),
            orders: hits
                .iter()
                .filter_map(|hit| hit.get("_source").cloned())
                .collect(),
            next: hits
                .last()
                .filter(|_| full)
                .and_then(|hit| hit.get("sort").cloned()),
        })
    }
}

/// One part of the text.
#[derive(Debug)]
struct Part {
    position: usize,
    negated: bool,
    field: Option<String>,
    value: String,
    /// Taken as it is written.
    quoted: bool,
}

fn parts(text: &str) -> Result<Vec<Part>, QueryError> {
    let mut parts = Vec::new();
    let mut characters = text.chars().enumerate().peekable();
    while let Some((at, first)) = characters
        .next_if(|(_, c)| c.is_whitespace())
        .or_else(|| characters.peek().copied())
    {
        if first.is_whitespace() {
            continue;
        }
        let position = at + 1;
        let negated = characters.next_if(|(_, c)| *c == '-').is_some();
        let (mut field, mut value, mut quoted) = (None, String::new(), false);
        while let Some((_, c)) = characters.next_if(|(_, c)| !c.is_whitespace()) {
            match c {
                '"' if value.is_empty() && !quoted => {
                    quoted = true;
                    loop {
                        match characters.next() {
                            Some((_, '"')) => break,
                            Some((_, c)) => value.push(c),
                            None => {
                                return Err(QueryError {
                                    position,
                                    what: "a quote without its end".to_owned(),
                                });
                            }
                        }
                    }
                }
                ':' if field.is_none() && !quoted => field = Some(std::mem::take(&mut value)),
                c => value.push(c),
            }
        }
        if value.is_empty() {
            return Err(QueryError {
                position,
                what: "a part without a value".to_owned(),
            });
        }
        parts.push(Part {
            position,
            negated,
            field,
            value,
            quoted,
        });
    }
    Ok(parts)
}

fn filter(field: &str, value: &str, quoted: bool) -> Result<Value, String> {
    if field
        .strip_prefix("attributes.")
        .is_some_and(|path| !path.is_empty())
    {
        return Ok(json!({"term": {field: value}}));
    }
    let Some((_, path, kind)) = FIELDS.iter().find(|(name, ..)| *name == field) else {
        let names = FIELDS.map(|(name, ..)| name).join(", ");
        return Err(format!(
            "there is no field {field:?}: the fields are {names} and attributes.<name>"
        ));
    };
    let clause = match kind {
        Kind::Text => json!({"match": {*path: {"query": value, "operator": "and"}}}),
        Kind::Keyword => match value.strip_suffix('*').filter(|_| !quoted) {
            Some(beginning) => json!({"prefix": {*path: beginning}}),
            None => json!({"term": {*path: value}}),
        },
        Kind::Long => range(path, value, |number| {
            number
                .parse::<i64>()
                .map(Value::from)
                .map_err(|_| format!("{number:?} is no whole number"))
        })?,
        Kind::Date => range(path, value, date)?,
    };
    Ok(if path.starts_with("lines.") {
        json!({"nested": {"path": "lines", "query": clause}})
    } else {
        clause
    })
}

/// `>5`, `>=5`, `<5`, `<=5`, `5..9` with both ends, `5..` and `..9`, `5`.
fn range(
    path: &str,
    value: &str,
    read: impl Fn(&str) -> Result<Value, String>,
) -> Result<Value, String> {
    for (sign, operator) in [(">=", "gte"), ("<=", "lte"), (">", "gt"), ("<", "lt")] {
        if let Some(bound) = value.strip_prefix(sign) {
            return Ok(json!({"range": {path: {operator: read(bound)?}}}));
        }
    }
    let (low, high) = value.split_once("..").unwrap_or((value, value));
    let mut bounds = serde_json::Map::new();
    for (operator, bound) in [("gte", low), ("lte", high)] {
        if !bound.is_empty() {
            bounds.insert(operator.to_owned(), read(bound)?);
        }
    }
    if bounds.is_empty() {
        return Err("a range without an end".to_owned());
    }
    Ok(json!({"range": {path: bounds}}))
}

/// A moment, or a whole day: the server rounds `||/d` to the day's beginning or end, as the comparison needs it.
fn date(text: &str) -> Result<Value, String> {
    if Timestamp::parse(&format!("{text}T00:00:00Z")).is_some() {
        return Ok(format!("{text}T00:00:00.000Z||/d").into());
    }
    let moment = Timestamp::parse(text).ok_or_else(|| {
        format!("{text:?} is no day (2026-01-31) and no time (2026-01-31T08:30:00Z)")
    })?;
    Ok(moment.rfc3339().into())
}

fn sorted_by(value: &str) -> Result<Value, String> {
    let (field, order) = value
        .strip_prefix('-')
        .map_or((value, "asc"), |field| (field, "desc"));
    let sortable = FIELDS
        .iter()
        .any(|(name, path, _)| *name == field && *path == field);
    if sortable {
        Ok(json!({field: {"order": order, "missing": "_last"}}))
    } else {
        Err(format!("{field:?} cannot be sorted by"))
    }
}

/// A free word: anywhere in what an order has.
fn word(word: &str) -> Value {
    let mut clauses: Vec<Value> = WORD_FIELDS
        .iter()
        .map(|field| json!({"term": {*field: word}}))
        .collect();
    clauses.push(json!({"nested": {"path": "lines", "query": {"match": {"lines.name": {"query": word, "operator": "and"}}}}}));
    clauses.push(json!({"nested": {"path": "lines", "query": {"term": {"lines.sku": word}}}}));
    clauses.push(json!({"term": {"attributes": word}}));
    json!({"bool": {"should": clauses, "minimum_should_match": 1}})
}

#[cfg(test)]
mod tests;
