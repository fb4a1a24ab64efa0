//! What goes in: the catalogue, the orders file, and the script of the people that belongs to exactly these orders.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use sagaline_order::{OrderId, Sku};
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::args::Args;

/// Everything that the demo is given.
pub(crate) struct Input {
    /// The orders, for the command line to import.
    pub(crate) orders: PathBuf,
    /// How many lines of it are not empty.
    pub(crate) lines: usize,
    /// What the shelves hold at first.
    pub(crate) stock: BTreeMap<Sku, u32>,
    /// What people do, if the script is for these orders.
    pub(crate) script: Script,
    /// A word that stands in many of the orders, to search for.
    pub(crate) search_for: String,
}

/// What people do after the orders are placed.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Script {
    orders_sha256: String,
    /// Payments that are settled by hand.
    #[serde(default)]
    pub(crate) settle: Vec<Settle>,
    /// Orders that their customers cancel.
    #[serde(default)]
    pub(crate) cancel: Vec<Cancel>,
    /// How many orders must end with each status.
    #[serde(default)]
    pub(crate) ends: BTreeMap<String, usize>,
}

/// A pending payment that is settled by hand.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Settle {
    /// Of which order.
    pub(crate) order_id: OrderId,
    /// `approved` or `declined`.
    #[serde(rename = "as")]
    pub(crate) status: String,
}

/// An order that its customer cancels.
#[derive(Debug, Clone, Deserialize)]
pub(crate) struct Cancel {
    /// Which.
    pub(crate) order_id: OrderId,
    /// At which point.
    pub(crate) when: When,
    /// Why.
    pub(crate) reason: String,
}

/// The point at which a customer cancels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum When {
    /// While the payment is pending.
    Pending,
    /// After the confirmation is out.
    Confirmed,
}

#[derive(Debug, Deserialize)]
struct Product {
    sku: String,
    stock: u32,
}

/// Reads what the arguments name, or the fixtures.
pub(crate) fn read(args: &Args) -> Result<Input> {
    let fixtures = sagaline_local::root().join("fixtures/orders");
    let catalogue = args
        .catalogue
        .clone()
        .unwrap_or_else(|| fixtures.join("catalogue.json"));
    let products: Vec<Product> =
        serde_json::from_slice(&bytes(&catalogue)?).with_context(|| {
            format!(
                "{} is no list of products with sku and stock",
                catalogue.display()
            )
        })?;
    let mut stock = BTreeMap::new();
    for product in products {
        let sku = Sku::parse(&product.sku)
            .with_context(|| format!("{}: sku '{}'", catalogue.display(), product.sku))?;
        stock.insert(sku, product.stock);
    }
    let orders = args
        .orders
        .clone()
        .unwrap_or_else(|| fixtures.join("orders.ndjson"));
    let content = bytes(&orders)?;
    let text = String::from_utf8_lossy(&content);
    let script = script(
        &orders.with_file_name("script.json"),
        &hex::encode(Sha256::digest(&content)),
    )?;
    Ok(Input {
        lines: text.lines().filter(|line| !line.trim().is_empty()).count(),
        search_for: frequent_word(&text),
        orders,
        stock,
        script,
    })
}

/// The script beside the orders, if it was written for them.
fn script(path: &Path, orders_sha256: &str) -> Result<Script> {
    if !path.is_file() {
        return Ok(Script::default());
    }
    let script: Script = serde_json::from_slice(&bytes(path)?)
        .with_context(|| format!("{} is no script", path.display()))?;
    Ok(if script.orders_sha256 == orders_sha256 {
        script
    } else {
        Script::default()
    })
}

fn bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).with_context(|| format!("cannot read {}", path.display()))
}

/// The first word of the product name that stands on most lines; of equal ones the first in the alphabet.
fn frequent_word(orders: &str) -> String {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for order in orders
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok())
    {
        let lines = order
            .get("lines")
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        for name in lines.iter().filter_map(|line| line.get("name")?.as_str()) {
            if let Some(word) = name.split_whitespace().next() {
                *counts
                    .entry(word.trim_matches(|c: char| !c.is_alphanumeric()).to_owned())
                    .or_default() += 1;
            }
        }
    }
    counts
        .into_iter()
        .filter(|(word, _)| !word.is_empty())
        .max_by(|a, b| a.1.cmp(&b.1).then_with(|| b.0.cmp(&a.0)))
        .map(|(word, _)| word)
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frequent_word_is_the_same_whatever_the_order_of_the_lines() {
        let line = |names: &[&str]| {
            serde_json::json!({"lines": names.iter().map(|name| serde_json::json!({"name": name})).collect::<Vec<_>>()}).to_string()
        };
        let orders = [
            line(&["煎茶 Sencha", "„Kleine Krähe“"]),
            line(&["煎茶 Sencha"]),
            line(&[]),
        ];
        assert_eq!(frequent_word(&orders.join("\n")), "煎茶");
        assert_eq!(
            frequent_word(&[line(&["b x"]), line(&["a y"])].join("\n")),
            "a"
        );
        assert_eq!(frequent_word("no json"), "");
    }

    #[test]
    fn script_of_other_orders_is_not_used() {
        let fixtures = sagaline_local::root().join("fixtures/orders");
        let content = fs::read(fixtures.join("orders.ndjson")).unwrap();
        let own = script(
            &fixtures.join("script.json"),
            &hex::encode(Sha256::digest(&content)),
        )
        .unwrap();
        assert_eq!(own.ends.values().sum::<usize>(), 200);
        assert!(
            script(&fixtures.join("script.json"), "another")
                .unwrap()
                .cancel
                .is_empty()
        );
        assert!(
            script(&fixtures.join("nothing.json"), "another")
                .unwrap()
                .ends
                .is_empty()
        );
    }
}
