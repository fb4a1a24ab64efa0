//! Whether the archive of a day is whole: what is asked of Athena, and what its rows say. Pure; who asks, and what the table says of the last
//! version of an order, is the caller's business.
//!
//! [`select`] gives the rows of the day in the order of orders and versions, each with its neighbour before. Images come only where the
//! database did not find them equal, so an ordinary day costs no transfer of images, and one row is held at a time.

use crate::chain::{Link, link};
use crate::reading::ResultRow;
use crate::views::{inlined, literal};
use std::ops::RangeInclusive;
use thiserror::Error;

/// The question: every version of that day (`2026-01-31`) with what comes before it, by order and version.
///
/// `newest` is the order's last version in the whole archive, `is_last` says whether the row is the last of the day. Versions of other days
/// that lie between two of this day's are included, and so are rows without a known day.
#[must_use]
pub fn select(day: &str) -> String {
    let day = literal(day);
    inlined(&format!(
        "SELECT order_id, version, event_name, version_before, newest, version = last_version AS is_last, fits,
  CASE WHEN NOT fits THEN image_before END AS image_before, CASE WHEN NOT fits THEN old_image END AS old_image
FROM (
  SELECT
    row_of.order_id, row_of.version, row_of.event_name, row_of.old_image, touched.first_version, touched.last_version,
    LAG(row_of.version) OVER (PARTITION BY row_of.order_id ORDER BY row_of.version) AS version_before,
    LAG(row_of.new_image) OVER (PARTITION BY row_of.order_id ORDER BY row_of.version) AS image_before,
    row_of.old_image IS NOT DISTINCT FROM LAG(row_of.new_image) OVER (PARTITION BY row_of.order_id ORDER BY row_of.version) AS fits,
    MAX(row_of.version) OVER (PARTITION BY row_of.order_id) AS newest
  FROM order_changes AS row_of
  JOIN (
    SELECT order_id, MIN(version) AS first_version, MAX(version) AS last_version
    FROM (
      SELECT order_id, version FROM changes WHERE CAST(dt AS VARCHAR) = {day}
      UNION ALL
      SELECT order_id, version FROM oversize_changes WHERE CAST(dt AS VARCHAR) = {day}
    ) AS of_day
    GROUP BY order_id
  ) AS touched ON row_of.order_id = touched.order_id
) AS neighbours
WHERE version BETWEEN first_version AND last_version
ORDER BY order_id, version"
    ))
}

/// Which versions of these orders the archive has, for orders that have no row on the day.
#[must_use]
pub fn select_newest(orders: &[String]) -> String {
    let orders: Vec<String> = orders.iter().map(|order| literal(order)).collect();
    inlined(&format!(
        "SELECT order_id, MAX(version) AS newest FROM order_changes WHERE order_id IN ({}) GROUP BY order_id",
        orders.join(", ")
    ))
}

/// A row of [`select`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbours {
    /// The order.
    pub order_id: String,
    /// The version.
    pub version: i64,
    /// The newest version of the order in the archive.
    pub newest: i64,
    /// Whether no later version of that day follows.
    pub is_last: bool,
    event_name: String,
    version_before: Option<i64>,
    fits: bool,
    image_before: Option<String>,
    old_image: Option<String>,
}

/// The answer is not that of the question.
#[derive(Debug, Error)]
#[error("Athena's answer has no usable {column}")]
pub struct BadAnswer {
    /// The column.
    pub column: &'static str,
}

/// What a row says about the version before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Looked {
    /// The versions before it that are not there.
    pub missing: Option<RangeInclusive<i64>>,
    /// How it fits to the version before it.
    pub fit: Fit,
}

/// How a version fits to the one before it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It is the first there can be, or the one before it is missing: there is nothing to fit to.
    First,
    /// What it found is what the one before it left.
    Whole,
    /// Nobody can tell, for this reason.
    Unverifiable(String),
    /// It is not, for this reason.
    Broken(String),
}

impl Neighbours {
    /// Reads a row of [`select`].
    ///
    /// # Errors
    /// [`BadAnswer`].
    pub fn read(row: ResultRow) -> Result<Self, BadAnswer> {
        let mut columns = row.into_iter();
        let mut next = || columns.next().flatten();
        let bad = |column| move || BadAnswer { column };
        let number = |text: String| text.parse::<i64>().ok();
        let truth = |text: String| text.parse::<bool>().ok();
        Ok(Self {
            order_id: next().ok_or_else(bad("order_id"))?,
            version: next().and_then(number).ok_or_else(bad("version"))?,
            event_name: next().ok_or_else(bad("event_name"))?,
            version_before: next().and_then(number),
            newest: next().and_then(number).ok_or_else(bad("newest"))?,
            is_last: next().and_then(truth).ok_or_else(bad("is_last"))?,
            fits: next().and_then(truth).ok_or_else(bad("fits"))?,
            image_before: next(),
            old_image: next(),
        })
    }

    /// Whether it is the removal of the order.
    #[must_use]
    pub fn is_removal(&self) -> bool {
        self.event_name == "REMOVE"
    }

    /// Looks at the row and its neighbour.
    #[must_use]
    pub fn look(&self) -> Looked {
        let before = self.version_before.unwrap_or(0);
        if before < self.version - 1 {
            return Looked {
                missing: Some(before + 1..=self.version - 1),
                fit: Fit::First,
            };
        }
        Looked {
            missing: None,
            fit: if self.version_before.is_none() {
                self.first()
            } else {
                self.fit()
            },
        }
    }

    /// The first version there can be found nothing.
    fn first(&self) -> Fit {
        if self.old_image.is_some() {
            Fit::Broken("the first version says that there was one before it".to_owned())
        } else {
            Fit::First
        }
    }

    fn fit(&self) -> Fit {
        if self.fits {
            return Fit::Whole;
        }
        // A row made from the table never has it; a record without it is no proof of anything.
        if self.old_image.is_none() && self.event_name != "INSERT" {
            return Fit::Unverifiable(format!(
                "the {} has no image of what was before it",
                self.event_name
            ));
        }
        match link(self.image_before.as_deref(), self.old_image.as_deref()) {
            Ok(Link::Whole) => Fit::Whole,
            Ok(Link::Unverifiable(names)) => Fit::Unverifiable(format!(
                "hidden with another key or in another set: {}",
                names.join(", ")
            )),
            Ok(Link::Broken(names)) => Fit::Broken(format!(
                "what it found is not what the version before it left: {}",
                names.join(", ")
            )),
            Err(error) => Fit::Broken(format!("an image cannot be read: {error}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(version: i64, before: Option<i64>, fits: bool, images: [Option<&str>; 2]) -> Neighbours {
        let text = |text: &str| Some(text.to_owned());
        let [image_before, old_image] = images.map(|image| image.map(str::to_owned));
        Neighbours::read(vec![
            text("o-1"),
            text(&version.to_string()),
            text("MODIFY"),
            before.map(|before| before.to_string()),
            text("9"),
            text("false"),
            text(if fits { "true" } else { "false" }),
            image_before,
            old_image,
        ])
        .unwrap()
    }

    #[test]
    fn versions_that_are_not_there_are_named() {
        let missing = |version, before| row(version, before, true, [None, None]).look().missing;
        assert_eq!(missing(1, None), None);
        assert_eq!(missing(2, Some(1)), None);
        assert_eq!(missing(2, None), Some(1..=1));
        assert_eq!(missing(7, Some(4)), Some(5..=6));
        assert_eq!(missing(7, None), Some(1..=6));
    }

    #[test]
    fn a_link_is_judged_only_where_there_is_one() {
        let fit = |version, before, fits, images| row(version, before, fits, images).look().fit;
        let a = Some(r#"{"a":{"N":"1"}}"#);
        let b = Some(r#"{"a":{"N":"2"}}"#);
        assert_eq!(fit(1, None, true, [None, None]), Fit::First);
        assert!(matches!(fit(1, None, false, [None, a]), Fit::Broken(_)));
        assert_eq!(
            fit(3, Some(1), false, [a, b]),
            Fit::First,
            "a gap breaks nothing"
        );
        assert_eq!(fit(2, Some(1), true, [None, None]), Fit::Whole);
        assert!(matches!(fit(2, Some(1), false, [a, b]), Fit::Broken(why) if why.ends_with(": a")));
        assert!(matches!(
            fit(2, Some(1), false, [a, None]),
            Fit::Unverifiable(_)
        ));
        assert!(matches!(
            fit(2, Some(1), false, [a, Some("{")]),
            Fit::Broken(_)
        ));
    }

    #[test]
    fn an_answer_of_another_shape_is_refused() {
        let error = Neighbours::read(vec![Some("o-1".to_owned()), None]).expect_err("no version");
        assert_eq!(error.to_string(), "Athena's answer has no usable version");
    }

    #[test]
    fn the_questions_hold_a_day_and_orders_as_texts() {
        assert!(select("2026-01-31").contains("WHERE CAST(dt AS VARCHAR) = '2026-01-31'"));
        let sql = select_newest(&["o'1".to_owned(), "o-2".to_owned()]);
        assert!(sql.contains("order_id IN ('o''1', 'o-2')"), "{sql}");
    }
}
