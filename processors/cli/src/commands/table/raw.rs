//! `sagaline table raw`: one item in DynamoDB JSON, exactly as it is stored.

use super::get::item;
use super::key::KeyArgs;
use super::typed;
use crate::args::Global;
use crate::error::CommandError;
use crate::output;
use crate::session::Session;
use clap::Args;

/// Shows an item in DynamoDB JSON, exactly as it is stored: every type, every digit.
///
/// What it prints can be given to `sagaline table size` and to the AWS tools.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline table raw 'ORDER#o-1'
  sagaline table raw 'ORDER#o-1/HISTORY#0000000001' --json > item.json")]
pub(super) struct Raw {
    #[command(flatten)]
    key: KeyArgs,
}

impl Raw {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let key = self.key.read()?;
        let session = Session::open(global).await?;
        let item = item(session.store.table(), &key, global).await?;
        let typed = typed::of_item(&item);
        if global.json {
            output::json(&typed);
        } else {
            output::line(&serde_json::to_string_pretty(&typed).unwrap_or_default());
        }
        Ok(())
    }
}
