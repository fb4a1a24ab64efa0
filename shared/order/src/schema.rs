//! The shapes of the stored head: every released one is read, a newer one is refused by name.
//!
//! A head carries the number of its shape. What is older is brought to the present shape here, one step a release, before anything else looks
//! at it; the next commit of the order writes it in the present shape. A changed shape takes a higher [`SCHEMA`], one more entry in
//! [`UPCASTERS`], and fixtures of its own; the old fixtures stay as they are.

use serde_json::{Map, Value};

use crate::SCHEMA;

/// Brings a head from one shape to the next. Works on the plain JSON of the head, as the fixtures have it.
type Upcaster = fn(&mut Map<String, Value>);

/// The step from shape `n` to `n + 1` stands at `n - 1`.
const UPCASTERS: [Upcaster; SCHEMA as usize - 1] = [];

/// A head whose shape this program does not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSchema {
    /// A newer program wrote it.
    #[error("schema {found} is newer than {known}, the newest that this program knows")]
    Newer {
        /// The head's.
        found: u64,
        /// Ours.
        known: u32,
    },
    /// Its number is none.
    #[error("its schema is {found}")]
    Unusable {
        /// What stands there.
        found: String,
    },
}

/// Brings a head to the present shape; its `schema` still says which one it had. A head without a number is of the first shape.
///
/// # Errors
/// [`BadSchema`]
pub fn upcast(head: &mut Map<String, Value>) -> Result<(), BadSchema> {
    upcast_by(&UPCASTERS, head)
}

fn upcast_by(upcasters: &[Upcaster], head: &mut Map<String, Value>) -> Result<(), BadSchema> {
    let stored = head.entry("schema").or_insert_with(|| Value::from(1));
    // Another endpoint may write 1 as 1.0: an integral number is that integer.
    let text = stored.to_string();
    let number = text.strip_suffix(".0").unwrap_or(&text).parse::<u64>();
    let found = match number {
        Ok(found) if found >= 1 => found,
        Ok(_) | Err(_) => return Err(BadSchema::Unusable { found: text }),
    };
    *stored = Value::from(found);
    let passed = usize::try_from(found - 1).unwrap_or(usize::MAX);
    let Some(to_come) = upcasters.get(passed..) else {
        return Err(BadSchema::Newer {
            found,
            known: SCHEMA,
        });
    };
    to_come.iter().for_each(|upcaster| upcaster(head));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn head(value: Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn an_older_shape_passes_every_step_from_its_own_on() {
        let steps: [Upcaster; 2] = [
            |head| {
                let user = head.remove("customer").unwrap();
                head.insert("user_id".to_owned(), user);
            },
            |head| {
                head.insert("currency".to_owned(), json!("EUR"));
            },
        ];
        for (old, new) in [
            (
                json!({"customer": "u-1"}),
                json!({"schema": 1, "user_id": "u-1", "currency": "EUR"}),
            ),
            (
                json!({"schema": 2, "user_id": "u-1"}),
                json!({"schema": 2, "user_id": "u-1", "currency": "EUR"}),
            ),
            (
                json!({"schema": 3, "user_id": "u-1", "currency": "CHF"}),
                json!({"schema": 3, "user_id": "u-1", "currency": "CHF"}),
            ),
        ] {
            let mut head = head(old);
            upcast_by(&steps, &mut head).unwrap();
            assert_eq!(Value::Object(head), new);
        }
    }

    #[test]
    fn a_newer_shape_and_one_that_is_no_number_are_refused_by_name() {
        let newer = upcast(&mut head(json!({"schema": SCHEMA + 1}))).unwrap_err();
        assert_eq!(
            newer.to_string(),
            "schema 2 is newer than 1, the newest that this program knows"
        );
        for (stored, found) in [
            (json!(0), "0"),
            (json!("one"), "\"one\""),
            (json!(1.5), "1.5"),
            (json!(null), "null"),
        ] {
            let error = upcast(&mut head(json!({"schema": stored}))).unwrap_err();
            assert_eq!(
                error,
                BadSchema::Unusable {
                    found: found.to_owned()
                }
            );
        }
        assert!(upcast(&mut head(json!({"schema": 1.0}))).is_ok());
    }
}
