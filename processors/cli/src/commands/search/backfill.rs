//! `sagaline search backfill`: fills the index from the table.

use super::FEW;
use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use sagaline_lambda::{now, one_line};
use sagaline_search::admin::Names;
use sagaline_search::backfill::{BackfillError, Segment, State, Tally, backfill, scan_page};
use sagaline_search::{SearchClient, SearchSink};
use serde_json::{Value, json};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Parts of the table that are read beside each other.
const SEGMENTS: u32 = 4;

/// Writes every order of the table to the index, while live writes go on.
///
/// Each is written with its own version, so that nothing newer is lost, and it may be run at any time. Removed orders are not brought back.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline search backfill
  sagaline search backfill --state backfill.json --max-rcu 500
  sagaline search backfill --json")]
pub(super) struct Backfill {
    /// Where to keep how far it is: stopped and run again with the same file, it goes on there. The file is removed at the end.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The most read units that it takes from the table in a second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_rcu: Option<u32>,
}

impl Backfill {
    pub(super) async fn run(
        self,
        client: SearchClient,
        names: &Names,
        global: &Global,
    ) -> Result<(), CommandError> {
        let session = Session::open(global).await?;
        let sink = SearchSink::new(client, &names.write);
        // While a remap is under way it goes to both indices, like every other write.
        let targets = session.store.search_targets(now()).await;
        sink.set_targets(targets.unwrap_or_default());
        let filling = Filling {
            session: &session,
            sink: &sink,
            alias: &names.write,
            state: self.state.as_deref(),
            max_rcu: self.max_rcu,
        };
        let tally = filling.run().await?;
        tell(&tally, global.json);
        if tally.refused.is_empty() {
            return Ok(());
        }
        Err(CommandError::new(
            Code::CheckFailed,
            format!(
                "{} orders cannot be written to the index",
                tally.refused.len()
            ),
        )
        .advise("read the lines above; all others are written"))
    }
}

/// Every head of the table on its way into an index.
pub(super) struct Filling<'f> {
    pub(super) session: &'f Session,
    pub(super) sink: &'f SearchSink,
    /// What the state is of: an alias or an index.
    pub(super) alias: &'f str,
    pub(super) state: Option<&'f Path>,
    pub(super) max_rcu: Option<u32>,
}

impl Filling<'_> {
    /// Writes all, from where the state says.
    pub(super) async fn run(&self) -> Result<Tally, CommandError> {
        let table = self.session.table.as_str();
        let kept = self.state.map(|path| Kept {
            path,
            table,
            alias: self.alias,
        });
        let begun = kept.as_ref().map(Kept::read).transpose()?.flatten();
        let mut state = begun.unwrap_or_else(|| State::new(SEGMENTS));
        // A place that cannot be written is found out before anything is done.
        if let Some(kept) = &kept {
            kept.write(&state)?;
        }
        let segments = u32::try_from(state.segments.len()).unwrap_or(SEGMENTS);
        let (dynamo, scanned) = (&self.session.aws.dynamodb(), &AtomicU64::new(0));
        let bar = progress(items_about(self.session).await);
        let pages = |segment: Segment| async move {
            let page = scan_page(dynamo, table, segments, &segment).await?;
            scanned.fetch_add(page.scanned, Ordering::Relaxed);
            Ok(page)
        };
        let mut unkept = None;
        let on_page = |state: &State, tally: &Tally| {
            bar.set_position(scanned.load(Ordering::Relaxed));
            bar.set_message(format!("{} orders", tally.heads));
            if let Some(kept) = &kept {
                // Only the last attempt matters.
                unkept = kept.write(state).err();
            }
        };
        let units = self.max_rcu.map(f64::from);
        let done = backfill(self.sink, &mut state, units, pages, on_page).await;
        bar.finish_and_clear();
        let tally = match (done, unkept) {
            (Ok(tally), _) => tally,
            (Err(_), Some(unkept)) => return Err(unkept),
            (Err(error), None) => return Err(stopped(&error, self.state)),
        };
        if let Some(kept) = &kept {
            kept.remove()?;
        }
        Ok(tally)
    }
}

fn stopped(error: &BackfillError, state: Option<&Path>) -> CommandError {
    let again = match state {
        Some(path) => format!(
            "run the same command again: it goes on where {} says",
            path.display()
        ),
        None => {
            "run it again; with --state FILE a backfill goes on where it was stopped".to_owned()
        }
    };
    CommandError::new(Code::Unavailable, one_line(error)).advise(again)
}

fn tell(tally: &Tally, json: bool) {
    if json {
        output::json(
            &json!({"heads": tally.heads, "written": tally.written, "current": tally.current, "refused": tally.refused}),
        );
        return;
    }
    for refused in tally.refused.iter().take(FEW) {
        output::line(&format!("refused: {refused}"));
    }
    if tally.refused.len() > FEW {
        output::line(&format!(
            "and {} more: see --json",
            tally.refused.len() - FEW
        ));
    }
    output::line(&format!(
        "{} orders: {} written, {} there already, {} refused",
        tally.heads,
        tally.written,
        tally.current,
        tally.refused.len()
    ));
}

/// About how many items the table has: DynamoDB counts them every six hours (API reference, `TableDescription`). `None` if it does not say.
pub(super) async fn items_about(session: &Session) -> Option<u64> {
    let ask = session.aws.dynamodb().describe_table();
    let answer = ask.table_name(&session.table).send().await;
    let items = answer.ok()?.table()?.item_count()?;
    u64::try_from(items).ok().filter(|items| *items > 0)
}

/// A progress bar on standard error; nothing where that is no terminal.
fn progress(items: Option<u64>) -> ProgressBar {
    let (bar, template) = match items {
        Some(items) => (
            ProgressBar::new(items),
            "backfill {bar:40} {percent}% {msg}, {per_sec} items, about {eta} left",
        ),
        None => (
            ProgressBar::no_length(),
            "backfill {spinner} {msg}, {per_sec} items",
        ),
    };
    bar.set_style(
        ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar
}

/// The file that says how far it is, and of what.
struct Kept<'k> {
    path: &'k Path,
    table: &'k str,
    alias: &'k str,
}

impl Kept<'_> {
    fn read(&self) -> Result<Option<State>, CommandError> {
        let name = self.path.display();
        let text = match std::fs::read_to_string(self.path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(CommandError::new(
                    Code::UnreadableFile,
                    format!("{name} cannot be read: {error}"),
                ));
            }
        };
        let bad = |what: String| {
            CommandError::new(Code::BadInput, format!("{name} {what}"))
                .advise("give the file of this backfill, or one that is not there yet")
        };
        let kept: Value = serde_json::from_str(&text)
            .map_err(|error| bad(format!("is no state of a backfill: {error}")))?;
        let of = |part: &str| kept.get(part).and_then(Value::as_str).unwrap_or_default();
        if (of("table"), of("alias")) != (self.table, self.alias) {
            return Err(bad(format!(
                "is the state of a backfill from '{}' to '{}', not from '{}' to '{}'",
                of("table"),
                of("alias"),
                self.table,
                self.alias
            )));
        }
        let state = kept.get("state").cloned().unwrap_or_default();
        let state: State = serde_json::from_value(state)
            .map_err(|error| bad(format!("is no state of a backfill: {error}")))?;
        // Another number of parts would cut the table elsewhere.
        let numbers = state.segments.iter().map(|segment| segment.number);
        if state.segments.is_empty() || !numbers.eq((0..).take(state.segments.len())) {
            return Err(bad("does not have every part of the table".to_owned()));
        }
        Ok(Some(state))
    }

    /// Whole or not at all: a file beside it takes its place.
    fn write(&self, state: &State) -> Result<(), CommandError> {
        let text = json!({"table": self.table, "alias": self.alias, "state": state}).to_string();
        let mut beside = self.path.as_os_str().to_owned();
        beside.push(".new");
        std::fs::write(&beside, text)
            .and_then(|()| std::fs::rename(&beside, self.path))
            .map_err(|error| self.unwritable(&error))
    }

    fn remove(&self) -> Result<(), CommandError> {
        std::fs::remove_file(self.path).map_err(|error| self.unwritable(&error))
    }

    fn unwritable(&self, error: &std::io::Error) -> CommandError {
        CommandError::new(
            Code::UnreadableFile,
            format!("{} cannot be written: {error}", self.path.display()),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_comes_back_for_its_own_table_and_index_only() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("state.json");
        let kept = |table| Kept {
            path: &path,
            table,
            alias: "orders-write",
        };
        assert_eq!(kept("orders").read().unwrap(), None);
        let mut state = State::new(3);
        state.segments[1].finished = true;
        kept("orders").write(&State::new(3)).unwrap();
        kept("orders").write(&state).unwrap();
        assert_eq!(kept("orders").read().unwrap(), Some(state));
        let other = kept("others").read().unwrap_err();
        assert_eq!(other.code(), Code::BadInput);
        assert!(
            other.what().contains("from 'orders' to 'orders-write'"),
            "{other}"
        );

        for cut in [
            "{",
            "[]",
            r#"{"table":"orders","alias":"orders-write","state":{"segments":[]}}"#,
        ] {
            std::fs::write(&path, cut).unwrap();
            assert_eq!(
                kept("orders").read().unwrap_err().code(),
                Code::BadInput,
                "{cut}"
            );
        }
        kept("orders").remove().unwrap();
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 0);
    }
}
