//! What the index holds of an order: a pure projection of the head. Only the fields named here leave the table: no address, no phone, no
//! token, and nothing that someone may add to a head tomorrow.
//!
//! The reader is tolerant: what is missing, or is text where text was not meant, stays absent. Not so numbers: an amount that is no `i64`
//! would be cut or rounded by the index (F-MAP-1), so its version is refused, which parks it for search only.

use crate::free::Free;
use crate::item::image_of;
use crate::message::SearchMessage;
use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_order::Timestamp;
use sagaline_stream::{Attribute, EventName, Failure, Image, Record};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use std::borrow::Cow;
use std::collections::HashMap;

/// One version of one order on its way to the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchInput {
    order_id: String,
    version: i64,
    deleted: bool,
    document: Result<String, String>,
}

impl SearchInput {
    /// What a stream record says of its order.
    ///
    /// # Errors
    /// Poison: an INSERT or MODIFY without a new image, a REMOVE without an old one, or a head without a usable version or order id.
    pub fn from_record(record: &Record<'_>) -> Result<Self, Failure> {
        if record.event_name() == EventName::Remove {
            Self::from_removed(record.require_old_image()?)
        } else {
            Self::from_head(record.require_new_image()?)
        }
    }

    /// The document of a head. A head whose amounts the index cannot hold is refused later, by the sink, so that an older version of the
    /// same batch takes its place.
    ///
    /// # Errors
    /// Poison: a head without a usable version or order id.
    pub fn from_head(head: &Image<'_>) -> Result<Self, Failure> {
        let (order_id, version) = identity(head)?;
        let document = project(head, order_id, version).and_then(|document| {
            serde_json::to_string(&document)
                .map_err(|error| format!("the document cannot be written: {error}"))
        });
        Ok(Self {
            order_id: order_id.to_owned(),
            version,
            deleted: false,
            document,
        })
    }

    /// The document of a head as the table gives it.
    ///
    /// # Errors
    /// As [`SearchInput::from_head`].
    pub fn from_item(item: &HashMap<String, AttributeValue>) -> Result<Self, Failure> {
        Self::from_head(&image_of(item))
    }

    /// The tombstone of a removed head: one version after it.
    ///
    /// # Errors
    /// Poison: a head without a usable version or order id.
    pub fn from_removed(old: &Image<'_>) -> Result<Self, Failure> {
        let (order_id, version) = identity(old)?;
        let version = version
            .checked_add(1)
            .ok_or_else(|| Failure::poison("the removed head has the last version there is"))?;
        Ok(Self::tombstone(order_id, version))
    }

    /// A tombstone of that version. It stays in the index for good: a deleted document would forget its version after a minute (F-OS-9).
    #[must_use]
    pub fn tombstone(order_id: &str, version: i64) -> Self {
        let document = Document {
            order_id,
            version,
            deleted: true,
            ..Document::default()
        };
        let document = serde_json::to_string(&document)
            .map_err(|error| format!("the tombstone cannot be written: {error}"));
        Self {
            order_id: order_id.to_owned(),
            version,
            deleted: true,
            document,
        }
    }

    /// The order.
    #[must_use]
    pub fn order_id(&self) -> &str {
        &self.order_id
    }

    /// The version, which is the document's external version.
    #[must_use]
    pub const fn version(&self) -> i64 {
        self.version
    }

    /// Whether it is a tombstone.
    #[must_use]
    pub const fn deleted(&self) -> bool {
        self.deleted
    }

    /// The document as JSON, or why the index cannot hold it.
    ///
    /// # Errors
    /// The reason, in one line.
    pub fn document(&self) -> Result<&str, &str> {
        self.document.as_deref().map_err(String::as_str)
    }

    /// The message that brings this order back later, when the index did not take it.
    #[must_use]
    pub fn message(&self) -> SearchMessage {
        SearchMessage {
            order_id: self.order_id.clone(),
            version: self.version,
            deleted: self.deleted,
        }
    }
}

/// The longest document id, in bytes (F-OS-11). One more and the server refuses the whole request (F-OS-5).
pub const MAX_ID_BYTES: usize = 512;

/// What begins like this is hashed too, so that no order id can be the hash of another.
const HASHED: &str = "sha256:";

/// The document id of an order: its own id where that can be one, else a stable hash. Different orders have different ids.
#[must_use]
pub fn document_id(order_id: &str) -> Cow<'_, str> {
    if order_id.is_empty() || order_id.len() > MAX_ID_BYTES || order_id.starts_with(HASHED) {
        Cow::Owned(format!(
            "{HASHED}{}",
            hex::encode(Sha256::digest(order_id.as_bytes()))
        ))
    } else {
        Cow::Borrowed(order_id)
    }
}

/// The order and the version of a head: without them it is none. The key names the order, whatever the attribute says.
fn identity<'r>(head: &'r Image<'_>) -> Result<(&'r str, i64), Failure> {
    let order_id = head
        .s("PK")
        .and_then(|key| key.strip_prefix("ORDER#"))
        .or_else(|| head.s("order_id"));
    let order_id = order_id.ok_or_else(|| Failure::poison("the head has no order id"))?;
    match head.n_i64("version") {
        Some(Ok(version)) if version >= 1 => Ok((order_id, version)),
        Some(Ok(version)) => Err(Failure::poison(format!("the head's version is {version}"))),
        Some(Err(error)) => Err(Failure::poison("the head has no usable version").because(error)),
        None => Err(Failure::poison("the head has no version")),
    }
}

/// The fields of the index, and no others. The mapping has the same; a test compares them.
#[derive(Debug, Default, Serialize)]
pub(crate) struct Document<'a> {
    order_id: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    state: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    total_minor: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_at: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    updated_at: Option<String>,
    version: i64,
    deleted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    lines: Option<Vec<Line<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payment_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tracking: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    attributes: Option<Free<'a>>,
}

#[derive(Debug, Serialize)]
struct Line<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    sku: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    qty: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unit_minor: Option<i64>,
}

fn project<'r>(
    head: &'r Image<'_>,
    order_id: &'r str,
    version: i64,
) -> Result<Document<'r>, String> {
    Ok(Document {
        order_id,
        user_id: head.s("user_id"),
        status: head.s("status"),
        state: head.s("state"),
        total_minor: amount(head, "total_minor")?,
        currency: head.s("currency"),
        created_at: time(head, "created_at"),
        updated_at: time(head, "updated_at"),
        version,
        deleted: false,
        lines: head
            .l("lines")
            .map(|lines| {
                lines
                    .iter()
                    .filter_map(Attribute::as_map)
                    .map(line)
                    .collect()
            })
            .transpose()?,
        payment_id: head.s("payment_id"),
        tracking: head.s("tracking"),
        attributes: head.m("attributes").map(Free::new),
    })
}

fn line<'r>(line: &'r Image<'_>) -> Result<Line<'r>, String> {
    Ok(Line {
        sku: line.s("sku"),
        name: line.s("name"),
        qty: amount(line, "qty")?,
        unit_minor: amount(line, "unit_minor")?,
    })
}

/// A number that the index holds as `long`. Absent and NULL stay absent; anything else that is no `i64` refuses the version.
fn amount(map: &Image<'_>, name: &str) -> Result<Option<i64>, String> {
    match map.n_i64(name) {
        None => Ok(None),
        Some(Ok(amount)) => Ok(Some(amount)),
        Some(Err(_)) if map.get(name) == Some(&Attribute::Null) => Ok(None),
        Some(Err(error)) => Err(format!("{name} is no 64-bit integer: {error}")),
    }
}

/// A time in the one form that the mapping takes.
fn time(head: &Image<'_>, name: &str) -> Option<String> {
    head.s(name)
        .and_then(Timestamp::parse)
        .map(Timestamp::rfc3339)
}

#[cfg(test)]
mod tests;
