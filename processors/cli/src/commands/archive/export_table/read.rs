//! Pages of the table, strongly consistent, every item of it.

use super::state::Key;
use crate::error::{Code, CommandError};
use crate::session::Session;
use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_lambda::one_line;
use sagaline_search::image_of;
use std::collections::HashMap;

/// An item as it is kept.
pub(super) struct Kept {
    pub(super) pk: String,
    pub(super) sk: String,
    /// Canonical DynamoDB JSON.
    pub(super) item: String,
}

/// The items of a page, and where the next begins; `None` at the end of the segment.
pub(super) async fn page(
    session: &Session,
    (number, segments): (u32, u32),
    after: Option<&Key>,
) -> Result<(Vec<Kept>, Option<Key>), CommandError> {
    let text = |text: &str| AttributeValue::S(text.to_owned());
    let start = after.map(|key| {
        HashMap::from([
            ("PK".to_owned(), text(&key.pk)),
            ("SK".to_owned(), text(&key.sk)),
        ])
    });
    let scan = session
        .aws
        .dynamodb()
        .scan()
        .table_name(&session.table)
        .consistent_read(true)
        .total_segments(i32::try_from(segments).unwrap_or(i32::MAX))
        .segment(i32::try_from(number).unwrap_or(i32::MAX))
        .set_exclusive_start_key(start);
    let answer = scan.send().await.map_err(|error| {
        CommandError::new(
            Code::Unavailable,
            format!(
                "a page of the table could not be read: {}",
                one_line(&error)
            ),
        )
    })?;
    let next = answer.last_evaluated_key().map(key).transpose()?;
    let items = answer.items();
    let items = items.iter().map(|item| {
        let Key { pk, sk } = key(item)?;
        Ok(Kept {
            pk,
            sk,
            item: image_of(item).to_canonical(),
        })
    });
    Ok((items.collect::<Result<_, CommandError>>()?, next))
}

fn key(item: &HashMap<String, AttributeValue>) -> Result<Key, CommandError> {
    let part = |name: &str| item.get(name).and_then(|value| value.as_s().ok()).cloned();
    match (part("PK"), part("SK")) {
        (Some(pk), Some(sk)) => Ok(Key { pk, sk }),
        _ => Err(CommandError::new(
            Code::BadData,
            "an item has no PK and SK that are text",
        )),
    }
}
