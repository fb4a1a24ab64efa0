//! `sagaline archive init`: the views.

use super::place::{Place, Watch};
use crate::args::Global;
use crate::error::CommandError;
use crate::output;
use sagaline_archive::ReadError;
use sagaline_archive::views::View;
use serde_json::json;

/// Creates every view, each after those that it is built on, and looks whether it is there then.
pub(super) async fn run(place: &Place, global: &Global) -> Result<(), CommandError> {
    let archive = place.open(global).await?;
    let watch = Watch::new();
    let mut rows = Vec::new();
    for view in View::ALL {
        // A view over one that is not there cannot be made.
        if rows.iter().any(|(_, kept)| !kept) {
            rows.push((view.name(), false));
            continue;
        }
        archive.ask(&view.create(), watch.query()).await?;
        // Athena keeps views; a stand-in may answer as if it did.
        let look = format!("SELECT 1 FROM {} LIMIT 0", view.name());
        let kept = match archive.ask(&look, watch.query()).await {
            Ok(_) => true,
            Err(ReadError::Query { .. }) => false,
            Err(error) => return Err(error.into()),
        };
        rows.push((view.name(), kept));
    }
    drop(watch);
    let all = rows.iter().all(|(_, kept)| *kept);
    if global.json {
        let views: Vec<_> = rows
            .iter()
            .map(|(name, kept)| json!({"view": name, "kept": kept}))
            .collect();
        output::json(&json!({"views": views}));
    } else {
        for (name, kept) in &rows {
            output::line(&format!(
                "{name}: {}",
                if *kept { "created" } else { "not kept" }
            ));
        }
    }
    if !all {
        eprintln!(
            "this Athena keeps no views: `sagaline archive` puts them into each of its own queries, so nothing of it needs them"
        );
    }
    Ok(())
}
