//! The bytes of a `_bulk` request, cut into parts that a server takes.

use std::borrow::Cow;

/// One item of a request.
#[derive(Debug)]
pub(crate) struct Item {
    /// Whose it is, in the list that the caller keeps.
    pub(crate) at: usize,
    /// The document id, to match the answer by.
    pub(crate) id: String,
    /// Its two lines.
    lines: String,
}

impl Item {
    /// `index` with an external version: the server refuses what is not newer than what it has (F-OS-8).
    pub(crate) fn new(
        at: usize,
        id: Cow<'_, str>,
        version: i64,
        rule: VersionRule,
        document: &str,
    ) -> Self {
        // As a JSON string: ids come from outside.
        let quoted = serde_json::Value::from(id.as_ref()).to_string();
        let rule = rule.as_str();
        let lines = format!(
            "{{\"index\":{{\"_id\":{quoted},\"version\":{version},\"version_type\":\"{rule}\"}}}}\n{document}\n"
        );
        Self {
            at,
            id: id.into_owned(),
            lines,
        }
    }
}

/// Which stored version a document may replace.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum VersionRule {
    /// A lower one.
    External,
    /// A lower one, or the same: what stands there is known to be damaged.
    ExternalOrSame,
}

impl VersionRule {
    const fn as_str(self) -> &'static str {
        match self {
            Self::External => "external",
            Self::ExternalOrSame => "external_gte",
        }
    }
}

/// The body of one request.
pub(crate) fn body(items: &[Item]) -> String {
    let mut body = String::with_capacity(items.iter().map(|item| item.lines.len()).sum());
    for item in items {
        body.push_str(&item.lines);
    }
    body
}

/// Cuts items into requests of at most so many bytes and items. An item that is larger by itself goes alone.
pub(crate) fn cut(
    items: impl IntoIterator<Item = Item>,
    most_bytes: usize,
    most_items: usize,
) -> Vec<Vec<Item>> {
    let mut parts: Vec<Vec<Item>> = Vec::new();
    let mut bytes = 0;
    for item in items {
        match parts.last_mut() {
            Some(part) if part.len() < most_items && bytes + item.lines.len() <= most_bytes => {
                bytes += item.lines.len();
                part.push(item);
            }
            Some(_) | None => {
                bytes = item.lines.len();
                parts.push(vec![item]);
            }
        }
    }
    parts
}

/// Two halves of a part that has at least two items.
pub(crate) fn halves(mut part: Vec<Item>) -> [Vec<Item>; 2] {
    let second = part.split_off(part.len() / 2);
    [part, second]
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn item(at: usize, bytes: usize) -> Item {
        Item {
            at,
            id: at.to_string(),
            lines: "x".repeat(bytes),
        }
    }

    #[test]
    fn an_item_is_two_lines_whatever_its_id_holds() {
        let item = Item::new(
            0,
            "o\"\n\u{1}é".into(),
            7,
            VersionRule::External,
            r#"{"order_id":"o"}"#,
        );
        let expected = "{\"index\":{\"_id\":\"o\\\"\\n\\u0001é\",\"version\":7,\"version_type\":\"external\"}}\n{\"order_id\":\"o\"}\n";
        assert_eq!(body(&[item]), expected);
    }

    // C-40
    #[test]
    fn requests_are_cut_by_bytes_and_by_count_and_the_largest_goes_alone() {
        let sizes = |parts: Vec<Vec<Item>>| parts.iter().map(Vec::len).collect::<Vec<_>>();
        let sixty = 60 * 1024;
        let items = (0..31).map(|at| item(at, if at == 10 { 20 * sixty } else { sixty }));
        assert_eq!(sizes(cut(items, 1024 * 1024, 1000)), [10, 1, 17, 3]);
        assert_eq!(sizes(cut((0..5).map(|at| item(at, 1)), 1000, 2)), [2, 2, 1]);
        assert_eq!(
            sizes(cut([item(0, 5), item(1, 5), item(2, 1)], 10, 9)),
            [2, 1]
        );
    }

    proptest! {
        #[test]
        fn no_item_is_lost_or_doubled_and_every_part_is_within_its_limits(
            sizes in proptest::collection::vec(1_usize..40, 0..60), most_bytes in 1_usize..60, most_items in 1_usize..9,
        ) {
            let parts = cut(sizes.iter().enumerate().map(|(at, bytes)| item(at, *bytes)), most_bytes, most_items);
            prop_assert!(parts.iter().flatten().map(|item| item.at).eq(0..sizes.len()));
            for part in parts {
                prop_assert!(part.len() <= most_items && !part.is_empty());
                prop_assert!(part.len() == 1 || body(&part).len() <= most_bytes);
            }
        }
    }
}
