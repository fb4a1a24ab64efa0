//! `sagaline stock`: what there is of a product, read and changed by hand.

use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use clap::{Args, Subcommand};
use sagaline_order::Sku;
use serde_json::json;

/// Reads and changes the stock of a product. Orders take and give back in their own commits.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline stock get mug
  sagaline stock set mug 100
  sagaline stock set mug 80 --expect 100
  sagaline stock add mug -5")]
pub(crate) struct Stock {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// What there is; 0 for a product that nobody stocked.
    Get {
        /// The product.
        sku: String,
    },
    /// Sets what there is.
    Set {
        /// The product.
        sku: String,
        /// What there is from now on.
        #[arg(value_name = "N")]
        stock: u32,
        /// Only if this is what there is now.
        #[arg(long, value_name = "N")]
        expect: Option<i64>,
    },
    /// Adds to what there is, or takes from it.
    Add {
        /// The product.
        sku: String,
        /// How much; negative takes.
        #[arg(value_name = "N", allow_negative_numbers = true)]
        change: i64,
    },
}

impl Stock {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let (Action::Get { sku } | Action::Set { sku, .. } | Action::Add { sku, .. }) =
            &self.action;
        let sku = Sku::parse(sku)
            .map_err(|bad| CommandError::new(Code::BadInput, format!("sku {bad}")))?;
        let session = Session::open(global).await?;
        let store = &session.store;
        let stock = match self.action {
            Action::Get { .. } => store.stock(&sku).await?,
            Action::Set { stock, expect, .. } => store
                .set_stock(&sku, stock, expect)
                .await
                .map_err(|error| CommandError::of_stock(&error))?,
            Action::Add { change, .. } => store
                .add_stock(&sku, change)
                .await
                .map_err(|error| CommandError::of_stock(&error))?,
        };
        if global.json {
            output::json(&json!({"sku": sku, "stock": stock}));
        } else {
            output::line(&format!("{sku}: {stock}"));
        }
        Ok(())
    }
}
