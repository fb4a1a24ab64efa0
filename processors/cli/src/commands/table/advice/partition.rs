//! What is wrong with a partition key: its case, its kind, its place, its shard.

use super::{Asked, Correction, Sort};
use sagaline_order::Status;
use sagaline_store::{
    DUE_SHARDS, Index, PRODUCT_SHARDS, REFUND_SHARDS, STATUS_SHARDS, UPDATED_SHARDS,
};

/// Blanks and quotes around a key.
pub(super) fn blanks(asked: &Asked) -> Option<Correction> {
    let clean = |text: &str| {
        let text = text.trim();
        let inside = ['"', '\'']
            .into_iter()
            .find_map(|mark| text.strip_prefix(mark)?.strip_suffix(mark));
        inside.unwrap_or(text).trim().to_owned()
    };
    let sk = match &asked.sk {
        Sort::Any => Sort::Any,
        Sort::Is(text) => Sort::Is(clean(text)),
        Sort::Prefix(text) => Sort::Prefix(clean(text)),
        Sort::Between(from, to) => Sort::Between(clean(from), clean(to)),
    };
    let instead = Asked {
        sk,
        ..asked.with_pk(clean(&asked.pk))
    };
    let what = "a key is compared byte by byte: blanks and quotes around it count".to_owned();
    (instead != *asked).then(|| ("blanks", what, vec![instead]))
}

/// `status = UNPAID`, `PK=ORDER#o-1`, or a bare status: an attribute and its value in place of a key.
pub(super) fn attribute(asked: &Asked) -> Option<Correction> {
    let (name, value) = match asked.pk.split_once('=') {
        Some((name, value)) => (name.trim(), value.trim().trim_matches(['"', '\''])),
        None => ("", asked.pk.as_str()),
    };
    let status = Status::parse(&value.to_ascii_uppercase());
    if let Some(status) = status.filter(|_| name.is_empty() || name == "status") {
        let text = status.as_str();
        if !status.is_indexed() {
            return Some(("not_listed", not_listed(text), Vec::new()));
        }
        let what = format!(
            "status is an attribute and no key: orders in {text} are in the index by_status, partition STATUS#{text}#0 to STATUS#{text}#{}",
            STATUS_SHARDS - 1
        );
        let instead = (0..STATUS_SHARDS)
            .map(|shard| Asked::on(Some(Index::ByStatus), format!("STATUS#{text}#{shard}")));
        return Some(("not_the_partition_key", what, instead.collect()));
    }
    if name.is_empty() {
        return None;
    }
    let index = Index::ALL
        .into_iter()
        .find(|index| index.partition() == name);
    let sort = Index::ALL.into_iter().find(|index| index.sort() == name);
    let what = format!("give the value of a key only, without '{name} ='");
    match (name, index, sort) {
        ("PK", _, _) => Some(("attribute", what, vec![asked.with_pk(value)])),
        (_, Some(index), _) => {
            let instead = Asked {
                index: Some(index),
                ..asked.with_pk(value)
            };
            Some(("attribute", what, vec![instead]))
        }
        (_, None, Some(index)) => Some((
            "not_the_partition_key",
            format!(
                "{name} is the sort key of the index {}; a query needs its partition key, {}",
                index.name(),
                index.partition()
            ),
            Vec::new(),
        )),
        (_, None, None) => Some((
            "not_the_partition_key",
            format!(
                "{name} is no key of the table or of an index, so DynamoDB cannot look for it: {}",
                partitions()
            ),
            Vec::new(),
        )),
    }
}

fn not_listed(status: &str) -> String {
    format!(
        "the index by_status lists UNPAID, PROCESSING and EXCEPTION only; orders in {status} are found with `sagaline search status:{status}`"
    )
}

fn partitions() -> String {
    "the table's partition key is PK, that of due is due_pk, of by_status status_pk, of by_updated updated_pk".to_owned()
}

/// A sort key, a bare id, or the keys the wrong way round, in place of the partition key.
pub(super) fn not_a_partition(asked: &Asked) -> Option<Correction> {
    let pk = asked.pk.as_str();
    let upper = pk.to_ascii_uppercase();
    let of = |what: String, instead: Vec<Asked>| Some(("not_the_partition_key", what, instead));
    if asked
        .sort_text()
        .is_some_and(|sk| is_partition(sk) && !is_partition(pk))
    {
        let swapped = Asked {
            index: asked.index,
            pk: asked.sort_text().unwrap_or_default().to_owned(),
            sk: match &asked.sk {
                Sort::Prefix(_) => Sort::Prefix(pk.to_owned()),
                Sort::Is(_) | Sort::Any | Sort::Between(..) => Sort::Is(pk.to_owned()),
            },
        };
        return of(
            "the two keys are the wrong way round: the partition key comes first".to_owned(),
            vec![swapped],
        );
    }
    for (sort_key, partition) in SORT_KEYS {
        if upper.starts_with(sort_key) {
            return of(
                format!("'{pk}' is a sort key (SK); a query needs its partition key, {partition}"),
                Vec::new(),
            );
        }
    }
    if pk.bytes().take(8).filter(u8::is_ascii_digit).count() == 8 && pk.contains('#') {
        return of(
            format!(
                "'{pk}' is a sort key: it begins with a time; {}",
                partitions()
            ),
            Vec::new(),
        );
    }
    if pk.contains('#') || pk.is_empty() || asked.index.is_some() {
        return None;
    }
    let instead = ["ORDER#", "USER#", "PRODUCT#", "REQUEST#", "INDEX#PAYMENT#"]
        .map(|prefix| asked.with_pk(format!("{prefix}{pk}")));
    of(
        format!(
            "'{pk}' says no kind: a partition key begins with what it is of, as ORDER#{pk} or USER#{pk}"
        ),
        instead.to_vec(),
    )
}

/// What sort keys begin with, and the partition that they stand in.
const SORT_KEYS: [(&str, &str); 7] = [
    ("ORDER#DETAIL", "ORDER#<order id>"),
    ("HISTORY#", "ORDER#<order id>"),
    ("USER#ORDERS#", "USER#<user id>"),
    ("USER#METRICS", "USER#<user id>"),
    ("PRODUCT#ORDERS#", "PRODUCT#<sku>#<shard of 4>"),
    ("PRODUCT#INVENTORY", "PRODUCT#<sku>"),
    ("CONFIG#", "GLOBAL#CONFIG"),
];

/// What partition keys begin with, and the index that they are of.
const PARTITIONS: [(&str, Option<Index>); 11] = [
    ("ORDER#", None),
    ("REQUEST#", None),
    ("USER#", None),
    ("PRODUCT#", None),
    ("INDEX#PAYMENT#", None),
    ("INDEX#PHONE#", None),
    ("REFUND#", None),
    ("GLOBAL#CONFIG", None),
    ("DUE#", Some(Index::Due)),
    ("STATUS#", Some(Index::ByStatus)),
    ("DAY#", Some(Index::ByUpdated)),
];

fn is_partition(text: &str) -> bool {
    let upper = text.to_ascii_uppercase();
    PARTITIONS
        .iter()
        .any(|(prefix, _)| upper.starts_with(prefix))
        && !SORT_KEYS
            .iter()
            .any(|(prefix, _)| upper.starts_with(prefix))
}

/// `order#o-1` for `ORDER#o-1`: the parts that we spell are upper case, ids are as they were given.
pub(super) fn case(asked: &Asked) -> Option<Correction> {
    let mut pk = recased(&asked.pk, &PARTITIONS.map(|(prefix, _)| prefix));
    if let Some(rest) = pk.strip_prefix("STATUS#") {
        pk = format!("STATUS#{}", rest.to_ascii_uppercase());
    }
    let sort = |text: &str| recased(text, &SORT_KEYS.map(|(prefix, _)| prefix));
    let sk = match &asked.sk {
        Sort::Any => Sort::Any,
        Sort::Is(text) if text.eq_ignore_ascii_case("REQUEST") => Sort::Is("REQUEST".to_owned()),
        // A look-up has the same text twice.
        Sort::Is(text) if *text == asked.pk => Sort::Is(pk.clone()),
        Sort::Is(text) => Sort::Is(sort(text)),
        Sort::Prefix(text) => Sort::Prefix(sort(text)),
        Sort::Between(from, to) => Sort::Between(sort(from), sort(to)),
    };
    let instead = Asked {
        sk,
        ..asked.with_pk(pk)
    };
    let what = "case counts in keys: what comes before an id is upper case, as ORDER#, USER#ORDERS#, HISTORY#".to_owned();
    (instead != *asked).then(|| ("case", what, vec![instead]))
}

fn recased(text: &str, prefixes: &[&str]) -> String {
    for prefix in prefixes {
        let parts = text.split_at_checked(prefix.len());
        if let Some((_, rest)) = parts.filter(|(head, _)| head.eq_ignore_ascii_case(prefix)) {
            return format!("{prefix}{rest}");
        }
    }
    text.to_owned()
}

/// A partition of an index asked of the table, or of the table asked of an index.
pub(super) fn place(asked: &Asked) -> Option<Correction> {
    let (prefix, index) = *PARTITIONS.iter().find(|(prefix, _)| {
        asked.pk.starts_with(prefix) || asked.pk == prefix.trim_end_matches('#')
    })?;
    if index == asked.index {
        return None;
    }
    let place = index.map_or("the table itself", Index::name);
    let what = format!(
        "{prefix}... is a partition of {place}, not of {}",
        asked.index.map_or("the table itself", Index::name)
    );
    let instead = Asked {
        index,
        // Sort keys of one place mean nothing in the other.
        sk: match (&asked.sk, index) {
            (Sort::Is(text), Some(_)) => Sort::Prefix(text.clone()),
            (other, _) => other.clone(),
        },
        ..asked.clone()
    };
    let kind = if index.is_some() {
        "wrong_index"
    } else {
        "not_the_partition_key"
    };
    Some((kind, what, vec![instead]))
}

/// What is spread over shards: how many, and how many parts stand before the number.
const SHARDED: [(&str, u32, usize); 5] = [
    ("DUE#", DUE_SHARDS, 1),
    ("STATUS#", STATUS_SHARDS, 2),
    ("DAY#", UPDATED_SHARDS, 2),
    ("REFUND#", REFUND_SHARDS, 2),
    ("PRODUCT#", PRODUCT_SHARDS, 2),
];

/// Lists that are spread over shards have its number at the end of the partition key.
pub(super) fn shard(asked: &Asked) -> Option<Correction> {
    let pk = asked.pk.as_str();
    let named = |prefix: &str| pk.starts_with(prefix) || pk == prefix.trim_end_matches('#');
    let (prefix, shards, parts) = *SHARDED.iter().find(|(prefix, ..)| named(prefix))?;
    let orders = |text: &str| text.starts_with("PRODUCT#ORDERS#");
    let wants_orders = match &asked.sk {
        Sort::Any => false,
        Sort::Is(text) | Sort::Prefix(text) | Sort::Between(text, _) => orders(text),
    };
    // The stock of a product is one item, and its partition no list.
    if prefix == "PRODUCT#" && !wants_orders && split(pk, parts).is_none() {
        return None;
    }
    let name = split(pk, parts);
    let status = pk
        .strip_prefix("STATUS#")
        .and_then(|rest| rest.split('#').next());
    if let Some(status) =
        status.filter(|text| Status::parse(text).is_some_and(|status| !status.is_indexed()))
    {
        return Some(("not_listed", not_listed(status), Vec::new()));
    }
    let last = shards - 1;
    let (kind, base, what) = match name {
        Some((base, number)) => match number.parse::<u32>() {
            Ok(shard) if shard < shards && shard.to_string() == number => return None,
            Ok(shard) if shard < shards => {
                let what = format!("a shard number has no leading zeros: {base}#{shard}");
                return Some((
                    "wrong_shard",
                    what,
                    vec![asked.with_pk(format!("{base}#{shard}"))],
                ));
            }
            Ok(_) | Err(_) => {
                let what = format!("'{number}' is no shard: the shards of {base} are 0 to {last}");
                ("wrong_shard", base, what)
            }
        },
        None => {
            let base = pk.trim_end_matches('#').to_owned();
            let what =
                format!("the shard is missing: the list is spread over {base}#0 to {base}#{last}");
            ("missing_shard", base, what)
        }
    };
    let instead = (0..shards).map(|shard| asked.with_pk(format!("{base}#{shard}")));
    Some((kind, what, instead.collect()))
}

/// `<base>#<last part>` if there are more than `parts` parts.
fn split(pk: &str, parts: usize) -> Option<(String, &str)> {
    let (base, last) = pk.rsplit_once('#')?;
    (pk.split('#').count() > parts && !last.is_empty()).then(|| (base.to_owned(), last))
}
