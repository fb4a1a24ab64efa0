//! `sagaline archive export-table`: the whole table into the archive's bucket, for good.
//!
//! Every item of every kind is read strongly consistent, in parts beside each other, and kept as its canonical DynamoDB JSON: the text from
//! which the item can be restored to the last digit. Files lie by the UTC day of the export, `tables/<table>/dt=<day>/`. Then the proof: the
//! files are read back and the table once more, and count and checksum of all three must be the same. The checksum is a sum over the items, so
//! it does not depend on their order, and an item that is there twice or altered changes it.
//!
//! How far it is stands in a file (`--state`): stopped at any moment and run again, it goes on behind the last file that was stored. Start
//! reading at `write.rs`.

mod check;
mod read;
mod sum;
mod write;

mod files;
mod state;

use crate::args::Global;
use crate::commands::archive::place::Watch;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use clap::Args;
use files::Files;
use sagaline_lambda::now;
use serde_json::json;
use state::{Kept, State};
use std::path::PathBuf;
use sum::Sum;

/// Writes every item of the table, of every kind, to the archive's bucket, and proves that all are there.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline archive export-table --state export.json
  sagaline archive export-table --check 2026-01-31
  sagaline archive export-table --check 2026-01-31 --json

The files are Parquet with the columns pk, sk and item (canonical DynamoDB JSON, nothing hidden), at
s3://$ARCHIVE_BUCKET/tables/<table>/dt=<day>/; _manifest.json beside them has count and checksum. Stop what writes to the table first
(docs/retire-a-table.md): the check at the end compares the files with the table as it is then, exit code 1 if they differ. Stopped, run it
again with the same --state.")]
pub(super) struct ExportTable {
    /// Where to keep how far it is: stopped and run again with the same file, it goes on there. The file is removed at the end.
    #[arg(long, value_name = "FILE", conflicts_with = "check")]
    state: Option<PathBuf>,
    /// Parts of the table that are read beside each other.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..=64))]
    segments: u32,
    /// Only check the export of that day against the table.
    #[arg(long, value_name = "DAY", value_parser = crate::aside::store::day)]
    check: Option<String>,
    /// The archive's bucket.
    #[arg(
        long,
        env = "ARCHIVE_BUCKET",
        hide_env_values = true,
        value_name = "NAME"
    )]
    bucket: Option<String>,
}

impl ExportTable {
    pub(super) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let bucket = self.bucket.clone().filter(|bucket| !bucket.is_empty());
        let bucket = bucket.ok_or_else(|| {
            CommandError::new(Code::BadConfiguration, "ARCHIVE_BUCKET is not set")
                .advise("set it, or pass --bucket NAME")
        })?;
        let session = Session::open(global).await?;
        let watch = Watch::new();
        let day = match &self.check {
            Some(day) => day.clone(),
            None => self.export(&session, &bucket, &watch).await?,
        };
        let files = Files::new(session.aws.s3(), &bucket, &session.table, &day);
        let manifest = files.manifest().await?.ok_or_else(|| {
            CommandError::new(
                Code::NothingAside,
                format!("there is no export at {}", files.url()),
            )
            .advise("make it with `sagaline archive export-table`")
        })?;
        let stored = check::files(&files, &manifest, &watch).await?;
        let table = check::table(&session, self.segments, &watch).await?;
        drop(watch);
        tell(&files, &manifest, &stored, &table, global.json);
        if stored.wrong.is_empty() && stored.sum == manifest.sum && table == manifest.sum {
            return Ok(());
        }
        Err(differs(&manifest.sum, &stored, &table))
    }

    /// Writes the export and answers its day.
    async fn export(
        &self,
        session: &Session,
        bucket: &str,
        watch: &Watch,
    ) -> Result<String, CommandError> {
        let kept = self.state.as_deref().map(|path| Kept {
            path,
            table: &session.table,
            bucket,
        });
        let begun = kept.as_ref().map(Kept::read).transpose()?.flatten();
        let resumed = begun.is_some();
        let mut state = begun.unwrap_or_else(|| State::new(now().day(), self.segments));
        let files = Files::new(session.aws.s3(), bucket, &session.table, &state.day);
        if !resumed && files.any().await? {
            return Err(CommandError::new(
                Code::NotAllowed,
                format!("{} holds an export already", files.url()),
            )
            .advise(
                "go on with the --state of that one, check it with --check, or remove its objects",
            ));
        }
        // A place that cannot be written is found out before anything is done.
        if let Some(kept) = &kept {
            kept.write(&state)?;
        }
        let exported = write::run(session, &files, &mut state, kept.as_ref(), watch).await;
        if let (Err(error), Some(kept)) = (&exported, &kept) {
            return Err(
                CommandError::new(error.code(), error.what()).advise(format!(
                    "run the same command again: it goes on where {} says",
                    kept.path.display()
                )),
            );
        }
        exported?;
        if let Some(kept) = &kept {
            kept.remove()?;
        }
        Ok(state.day)
    }
}

fn tell(
    files: &Files,
    manifest: &state::Manifest,
    stored: &check::Stored,
    table: &Sum,
    json: bool,
) {
    if json {
        let sum = |sum: &Sum| json!({"items": sum.items, "checksum": sum.hex()});
        output::json(&json!({
            "export": files.url(), "files": manifest.files.len(), "manifest": sum(&manifest.sum), "stored": sum(&stored.sum),
            "table": sum(table), "wrong": stored.wrong,
        }));
        return;
    }
    let row = |what: &str, sum: &Sum| [what.to_owned(), sum.items.to_string(), sum.hex()];
    output::line(&output::table(
        ["", "items", "checksum"],
        [
            row("manifest", &manifest.sum),
            row("files", &stored.sum),
            row("table", table),
        ],
    ));
    for wrong in &stored.wrong {
        output::line(wrong);
    }
    output::line(&format!("{}: {} files", files.url(), manifest.files.len()));
}

fn differs(manifest: &Sum, stored: &check::Stored, table: &Sum) -> CommandError {
    if !stored.wrong.is_empty() || stored.sum != *manifest {
        return CommandError::new(Code::CheckFailed, "the files are not what was written")
            .advise("do not delete the table; remove the export and make it again");
    }
    CommandError::new(
        Code::CheckFailed,
        format!(
            "the table is not what was exported: {} items exported, {} there now",
            manifest.items, table.items
        ),
    )
    .advise("something wrote meanwhile: stop it, remove the export and make it again")
}
