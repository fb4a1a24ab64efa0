//! The key of an item, as a person writes it.

use crate::error::{Code, CommandError};
use clap::Args;
use sagaline_store::{HEAD_SK, Key};

/// The most bytes of a partition key (DynamoDB quotas, "Partition keys and sort keys").
const MOST_PK_BYTES: usize = 2048;
/// The same of a sort key.
const MOST_SK_BYTES: usize = 1024;

/// Which item.
#[derive(Debug, Clone, Args)]
pub(super) struct KeyArgs {
    /// PK/SK, or PK alone where it says which item is meant, as ORDER#ID for the head.
    #[arg(value_name = "KEY", required_unless_present = "pk", conflicts_with_all = ["pk", "sk"])]
    key: Option<String>,
    /// The partition key, exactly.
    #[arg(long, value_name = "PK", requires = "sk")]
    pk: Option<String>,
    /// The sort key, exactly.
    #[arg(long, value_name = "SK", requires = "pk")]
    sk: Option<String>,
}

impl KeyArgs {
    pub(super) fn read(&self) -> Result<Key, CommandError> {
        match (&self.key, &self.pk, &self.sk) {
            (Some(text), _, _) => parse(text),
            (None, Some(pk), Some(sk)) => checked(pk, sk),
            (None, _, _) => Err(bad("a KEY or --pk and --sk are needed")),
        }
    }
}

/// The key that a text names. Case is left as it is: a wrong one is told when nothing is found.
pub(super) fn parse(text: &str) -> Result<Key, CommandError> {
    if let Some((pk, sk)) = text.split_once('/') {
        return checked(pk.trim_end(), sk.trim_start());
    }
    let begins = |prefix: &str| {
        let head = text.get(..prefix.len());
        head.is_some_and(|head| head.eq_ignore_ascii_case(prefix)) && text.len() > prefix.len()
    };
    let of_prefix = [
        ("ORDER#", HEAD_SK),
        ("USER#", "USER#METRICS"),
        ("PRODUCT#", "PRODUCT#INVENTORY"),
        ("REQUEST#", "REQUEST"),
    ];
    if let Some((_, sk)) = of_prefix.iter().find(|(prefix, _)| begins(prefix)) {
        return checked(text, sk);
    }
    if begins("INDEX#PAYMENT#") {
        return checked(text, text);
    }
    if begins("CONFIG#") {
        return checked("GLOBAL#CONFIG", text);
    }
    let advice = if text.contains('#') {
        "write PK/SK: this partition may hold many items (`sagaline table query --pk` lists them)"
            .to_owned()
    } else {
        format!("write ORDER#{text}, USER#{text}, PRODUCT#{text} or PK/SK")
    };
    Err(bad(format!("'{text}' names no single item")).advise(advice))
}

fn checked(pk: &str, sk: &str) -> Result<Key, CommandError> {
    fits("PK", pk)?;
    fits("SK", sk)?;
    Ok(Key {
        pk: pk.to_owned(),
        sk: sk.to_owned(),
    })
}

/// Whether DynamoDB takes a text as a PK or SK, or the beginning of one.
pub(super) fn fits(name: &str, text: &str) -> Result<(), CommandError> {
    let most = if name == "PK" {
        MOST_PK_BYTES
    } else {
        MOST_SK_BYTES
    };
    if text.is_empty() {
        return Err(bad(format!("the {name} is empty, which no item has")));
    }
    if text.len() > most {
        return Err(bad(format!(
            "the {name} has {} bytes, DynamoDB allows {most}",
            text.len()
        )));
    }
    Ok(())
}

pub(super) fn bad(what: impl Into<String>) -> CommandError {
    CommandError::new(Code::BadInput, what)
        .advise("see `sagaline table --help` for the forms of a key")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_written_whole_or_by_what_names_one_item() {
        let check = |text: &str, pk: &str, sk: &str| {
            let key = parse(text).unwrap();
            assert_eq!((key.pk.as_str(), key.sk.as_str()), (pk, sk), "{text}");
        };
        check(
            "ORDER#o-1/HISTORY#0000000001",
            "ORDER#o-1",
            "HISTORY#0000000001",
        );
        check("ORDER#o-1 / ORDER#DETAIL", "ORDER#o-1", "ORDER#DETAIL");
        check("ORDER#o-1", "ORDER#o-1", "ORDER#DETAIL");
        check("order#o-1", "order#o-1", "ORDER#DETAIL");
        check("USER#u-1", "USER#u-1", "USER#METRICS");
        check("PRODUCT#mug", "PRODUCT#mug", "PRODUCT#INVENTORY");
        check("REQUEST#r-1", "REQUEST#r-1", "REQUEST");
        check(
            "INDEX#PAYMENT#p-1",
            "INDEX#PAYMENT#p-1",
            "INDEX#PAYMENT#p-1",
        );
        check("CONFIG#saga", "GLOBAL#CONFIG", "CONFIG#saga");
    }

    #[test]
    fn what_names_no_single_item_is_refused_with_the_forms_that_do() {
        let check = |text: &str, part: &str| {
            let error = parse(text).unwrap_err();
            assert_eq!(error.code(), Code::BadInput);
            assert!(error.to_string().contains(part), "{error}");
        };
        check("o-1", "write ORDER#o-1, USER#o-1");
        check("REFUND#2026-01-31#0", "table query --pk");
        check("ORDER#", "names no single item");
        check("/ORDER#DETAIL", "PK is empty");
        check("ORDER#o-1/", "SK is empty");
        check("", "names no single item");
        check(&format!("ORDER#{}", "x".repeat(2048)), "2054 bytes");
        check(&format!("a/{}", "x".repeat(1025)), "SK has 1025 bytes");
        check("größe", "names no single item");
    }
}
