//! The index and its names: made once, and checked.
//!
//! Three names a deployment: `orders-v<N>` is the index, `orders` the alias for reading, `orders-write` the one for writing. Each alias is on
//! one index: OpenSearch allows a single write index, and two would show an order twice.

use crate::client::{Answer, Body, ClientError, SearchClient};
use crate::mapping::{mapping, settings};
use opensearch::http::Method;
use serde_json::{Value, json};
use thiserror::Error;

/// Why the index could not be made or checked.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum AdminError {
    /// No answer.
    #[error("the server could not be asked")]
    Client(#[from] ClientError),
    /// An answer that is no success.
    #[error("{what} was refused with status {status}: {body}")]
    Refused {
        /// What was asked for.
        what: String,
        /// The status.
        status: u16,
        /// The answer's body.
        body: String,
    },
    /// An answer that cannot be read.
    #[error("the answer to {what} is no JSON")]
    Unreadable {
        /// What was asked for.
        what: String,
        /// Why.
        #[source]
        source: serde_json::Error,
    },
}

/// The names that follow from the read alias.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Names {
    /// The alias for reading, and the name of the index template: `orders`.
    pub read: String,
    /// The alias for writing: `orders-write`.
    pub write: String,
    /// The second target while a remap is under way, on the index to come: `orders-write-next`.
    pub next: String,
    /// The third, on the index that is left, so that it stays one to return to: `orders-write-old`.
    pub old: String,
}

impl Names {
    /// From the read alias.
    #[must_use]
    pub fn new(alias: &str) -> Self {
        Self {
            read: alias.to_owned(),
            write: format!("{alias}-write"),
            next: format!("{alias}-write-next"),
            old: format!("{alias}-write-old"),
        }
    }

    /// The index of that generation: `orders-v1`.
    #[must_use]
    pub fn index(&self, generation: u32) -> String {
        format!("{}-v{generation}", self.read)
    }
}

/// Makes what is not there: template, index, both aliases. Run again it changes nothing, also beside another one that runs.
///
/// Returns what it did, one sentence each.
///
/// # Errors
/// [`AdminError`].
pub async fn init(client: &SearchClient, names: &Names) -> Result<Vec<String>, AdminError> {
    let mut done = Vec::new();
    if write_template(client, names).await? {
        done.push(format!("wrote the index template {}", names.read));
    }
    let (read, write) = (
        aliased(client, &names.read).await?,
        aliased(client, &names.write).await?,
    );
    let index = match write.first().or(read.first()) {
        Some((index, _)) => index.clone(),
        None => {
            let index = names.index(1);
            let made = make_index(client, &index).await?;
            let verb = if made { "made" } else { "found" };
            done.push(format!("{verb} the index {index}"));
            index
        }
    };
    let mut actions = Vec::new();
    if read.is_empty() {
        actions.push(json!({"add": {"index": index, "alias": names.read, "filter": alive()}}));
        done.push(format!("added the alias {} to {index}", names.read));
    }
    if write.is_empty() {
        actions
            .push(json!({"add": {"index": index, "alias": names.write, "is_write_index": true}}));
        done.push(format!("added the alias {} to {index}", names.write));
    }
    if !actions.is_empty() {
        ask(
            client,
            Method::Post,
            "/_aliases",
            Some(&json!({"actions": actions})),
        )
        .await?;
    }
    Ok(done)
}

/// What is not as [`init`] would have it, one sentence each. Nothing is changed.
///
/// # Errors
/// [`AdminError`].
pub async fn doctor(client: &SearchClient, names: &Names) -> Result<Vec<String>, AdminError> {
    let mut found = Vec::new();
    match stored_template(client, names).await? {
        None => found.push(format!("the index template {} is missing", names.read)),
        Some(stored) => {
            found.extend(
                differences(&template(names), &stored)
                    .into_iter()
                    .map(|what| format!("the index template {}: {what}", names.read)),
            );
        }
    }
    let (read, write) = (
        aliased(client, &names.read).await?,
        aliased(client, &names.write).await?,
    );
    for (alias, indices) in [(&names.read, &read), (&names.write, &write)] {
        match indices.as_slice() {
            [] => found.push(format!("the alias {alias} is missing")),
            [_] => {}
            several => found.push(format!(
                "the alias {alias} is on {} indices: only one may be",
                several.len()
            )),
        }
    }
    for (index, alias) in &read {
        if alias.get("filter") != Some(&alive()) {
            found.push(format!(
                "the alias {} on {index} does not hide deleted orders",
                names.read
            ));
        }
    }
    if let (Some((reads, _)), Some((writes, _))) = (read.first(), write.first())
        && reads != writes
    {
        found.push(format!(
            "{} reads {reads}, but {} writes {writes}",
            names.read, names.write
        ));
    }
    for (index, _) in &write {
        let what = mapping_differences(client, index).await?;
        found.extend(
            what.into_iter()
                .map(|what| format!("the mapping of {index}: {what}")),
        );
    }
    if let Some((next, _)) = aliased(client, &names.next).await?.first() {
        found.push(format!("a remap to {next} is under way"));
    }
    Ok(found)
}

/// Every place where the mapping of an index is not this version's.
///
/// # Errors
/// [`AdminError`].
pub async fn mapping_differences(
    client: &SearchClient,
    index: &str,
) -> Result<Vec<String>, AdminError> {
    let stored = ask(client, Method::Get, &format!("/{index}/_mapping"), None).await?;
    let stored = stored.get(index).and_then(|index| index.get("mappings"));
    Ok(differences(
        &mapping(),
        &stored.cloned().unwrap_or_default(),
    ))
}

/// Writes the index template if it is not as it should be.
pub(crate) async fn write_template(
    client: &SearchClient,
    names: &Names,
) -> Result<bool, AdminError> {
    let template = template(names);
    let stored = stored_template(client, names).await?;
    if stored.is_some_and(|stored| differences(&template, &stored).is_empty()) {
        return Ok(false);
    }
    let path = format!("/_index_template/{}", names.read);
    ask(client, Method::Put, &path, Some(&template)).await?;
    Ok(true)
}

/// Makes an index. False if it is there: made by an earlier run that got no further, or by another one at this moment.
pub(crate) async fn make_index(client: &SearchClient, index: &str) -> Result<bool, AdminError> {
    let answer = client.send(Method::Put, &format!("/{index}"), None).await?;
    let there = answer.status == 400
        && String::from_utf8_lossy(&answer.body).contains("resource_already_exists_exception");
    if !there {
        checked(format!("the index {index}"), answer)?;
    }
    Ok(!there)
}

/// What hides tombstones. It holds for searches through the alias, not for a read by id.
#[must_use]
pub fn alive() -> Value {
    json!({"term": {"deleted": false}})
}

/// The template gives every generation of the index its mapping.
fn template(names: &Names) -> Value {
    json!({
        "index_patterns": [format!("{}-v*", names.read)],
        "priority": 100,
        "template": {"settings": settings(), "mappings": mapping()},
    })
}

async fn stored_template(
    client: &SearchClient,
    names: &Names,
) -> Result<Option<Value>, AdminError> {
    let path = format!("/_index_template/{}", names.read);
    let stored = ask_if_there(client, &path).await?;
    // The server adds members of its own, `composed_of` and later ones.
    let ours = template(names);
    let template = stored
        .as_ref()
        .and_then(|stored| stored.pointer("/index_templates/0/index_template"));
    let members = template.and_then(Value::as_object);
    Ok(members.map(|members| {
        let both = members.iter().filter(|(name, _)| ours.get(name).is_some());
        both.map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }))
}

/// The indices that an alias is on, with how it is on them.
pub(crate) async fn aliased(
    client: &SearchClient,
    alias: &str,
) -> Result<Vec<(String, Value)>, AdminError> {
    let Some(Value::Object(indices)) = ask_if_there(client, &format!("/_alias/{alias}")).await?
    else {
        return Ok(Vec::new());
    };
    let of_index = |(index, body): (String, Value)| {
        let how = body
            .get("aliases")
            .and_then(|aliases| aliases.get(alias))
            .cloned();
        how.map(|how| (index, how))
    };
    Ok(indices.into_iter().filter_map(of_index).collect())
}

/// Every place where `stored` is not what `wanted` says. The server writes numbers and booleans of settings as text.
fn differences(wanted: &Value, stored: &Value) -> Vec<String> {
    fn walk(path: &str, wanted: &Value, stored: Option<&Value>, found: &mut Vec<String>) {
        match (wanted, stored) {
            (_, None) => found.push(format!("{path} is missing")),
            (Value::Object(wanted), Some(Value::Object(stored))) => {
                let of = |name: &str| {
                    if path.is_empty() {
                        name.to_owned()
                    } else {
                        format!("{path}.{name}")
                    }
                };
                for (name, value) in wanted {
                    walk(&of(name), value, stored.get(name), found);
                }
                for name in stored.keys().filter(|name| !wanted.contains_key(*name)) {
                    found.push(format!("{} is there, but not in this version", of(name)));
                }
            }
            (wanted, Some(stored)) if wanted == stored || text(wanted) == text(stored) => {}
            (wanted, Some(stored)) => found.push(format!("{path} is {stored}, not {wanted}")),
        }
    }
    fn text(value: &Value) -> String {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    }
    let mut found = Vec::new();
    walk("", wanted, Some(stored), &mut found);
    found
}

pub(crate) async fn ask(
    client: &SearchClient,
    method: Method,
    path: &str,
    body: Option<&Value>,
) -> Result<Value, AdminError> {
    checked(
        path.to_owned(),
        client.send(method, path, body.map(Body::json)).await?,
    )
}

async fn ask_if_there(client: &SearchClient, path: &str) -> Result<Option<Value>, AdminError> {
    let answer = client.send(Method::Get, path, None).await?;
    if answer.status == 404 {
        Ok(None)
    } else {
        checked(path.to_owned(), answer).map(Some)
    }
}

fn checked(what: String, answer: Answer) -> Result<Value, AdminError> {
    if !(200..=299).contains(&answer.status) {
        let body = String::from_utf8_lossy(&answer.body).into_owned();
        return Err(AdminError::Refused {
            what,
            status: answer.status,
            body,
        });
    }
    serde_json::from_slice(&answer.body).map_err(|source| AdminError::Unreadable { what, source })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_difference_is_named_by_its_path() {
        let mut stored = mapping();
        assert!(differences(&mapping(), &stored).is_empty());
        stored["date_detection"] = json!("false");
        assert!(
            differences(&mapping(), &stored).is_empty(),
            "text and boolean are the same setting"
        );
        stored["properties"]["total_minor"]["type"] = json!("float");
        stored["properties"]["surprise"] = json!({"type": "text"});
        stored["properties"]
            .as_object_mut()
            .unwrap()
            .remove("lines");
        assert_eq!(
            differences(&mapping(), &stored),
            [
                "properties.lines is missing",
                r#"properties.total_minor.type is "float", not "long""#,
                "properties.surprise is there, but not in this version",
            ]
        );
    }
}
