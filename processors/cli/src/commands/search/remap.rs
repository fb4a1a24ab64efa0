//! `sagaline search remap`: puts a new index in the place of the old one while everything goes on.
//!
//! How far it is stands in `CONFIG#search` of the table, beside the aliases that every writer follows, and in the aliases of the server. So it
//! can be killed at any moment and run again, from anywhere: [`stage::next`] says what comes next, this file does it.

mod check;
mod stage;
mod work;

use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use clap::Args;
use sagaline_lambda::one_line;
use sagaline_search::SearchClient;
use sagaline_search::admin::Names;
use sagaline_search::remap::{self, Layout, RemapError};
use serde_json::{Map, Value};
use stage::{Stage, Step, next};
use std::path::PathBuf;
use std::time::Duration;
use work::Work;

/// Puts a new index with this version's mapping in the place of the old one, while reads and writes go on.
///
/// Every writer writes to both indices until the new one is complete, checked, and read in the old one's place. Stopped at any moment and run
/// again, it goes on where it was.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline search remap
  sagaline search remap --yes
  sagaline search remap --yes --drop-old --max-rcu 500 --state remap.json
  sagaline search remap --abort --yes

Without --yes it only says what it would do. An order that the new index alone refuses ends the remap with exit code 1, and parks nothing:
run it again when that is corrected, or give it up with --abort.")]
pub(super) struct Remap {
    /// Do it.
    #[arg(long)]
    yes: bool,
    /// Give it up: read and write the old index again, and delete the new one. Possible until the remap has ended.
    #[arg(long, conflicts_with_all = ["drop_old", "state"])]
    abort: bool,
    /// Delete the old index at the end.
    #[arg(long)]
    drop_old: bool,
    /// Where to keep how far the copying is: without it, a remap that was stopped copies from the beginning.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// The most read units that the copying takes from the table in a second.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_rcu: Option<u32>,
    /// How long writers may take to follow: the minute that they keep the configuration, and their time-out. Less only if nothing writes.
    #[arg(long, value_name = "SECONDS", default_value_t = 130)]
    settle: u32,
}

impl Remap {
    pub(super) async fn run(
        self,
        client: SearchClient,
        names: &Names,
        global: &Global,
    ) -> Result<(), CommandError> {
        let session = Session::open(global).await?;
        let work = Work {
            client: &client,
            names,
            session: &session,
            settle: Duration::from_secs(self.settle.into()),
            max_rcu: self.max_rcu,
            state: self.state.as_deref(),
        };
        if !self.yes {
            return work.plan(self.abort, global.json).await;
        }
        let mut told = Map::new();
        loop {
            let (config, mark) = work.mark().await?;
            let layout = Layout::read(&client, names).await?;
            let step = next(mark.as_ref(), &layout, self.abort).map_err(refused)?;
            let done = match step {
                Step::Nothing => {
                    talk("no remap is under way: nothing to give up");
                    told.insert("result".to_owned(), "nothing".into());
                    break;
                }
                Step::Mark(mark) => {
                    talk(&mark.stage.sentence(&mark));
                    told.insert("from".to_owned(), mark.from.clone().into());
                    told.insert("to".to_owned(), mark.to.clone().into());
                    work.put(config.as_ref(), Some(&mark)).await
                }
                Step::Prepare(mark) => {
                    talk(&format!("making {} and the aliases to both", mark.to));
                    remap::prepare(&client, names, &mark.from, &mark.to).await?;
                    work.put(config.as_ref(), Some(&mark.at(Stage::Filling)))
                        .await
                }
                Step::Fill(mark) => work.fill(&mark, &mut told).await,
                Step::Check(mark) => {
                    work.check_after(&mark).await?;
                    work.put(config.as_ref(), Some(&mark.at(Stage::Ending)))
                        .await
                }
                Step::SwapBack(mark) => {
                    talk(&format!("reading and writing {} again", mark.from));
                    remap::swap_back(&client, names, &mark.from, &mark.to).await?;
                    work.put(config.as_ref(), Some(&mark.at(Stage::Aborting)))
                        .await
                }
                Step::Refill(mark) => work.refill(&mark).await,
                Step::End(mark) => {
                    let (leave, result) = if mark.stage == Stage::Aborting {
                        (Some(&mark.to), "aborted")
                    } else {
                        (Some(&mark.from).filter(|_| self.drop_old), "done")
                    };
                    let dropped = work.end(&mark, leave).await?;
                    work.put(config.as_ref(), None).await?;
                    told.insert("from".to_owned(), mark.from.clone().into());
                    told.insert("to".to_owned(), mark.to.clone().into());
                    told.insert("dropped".to_owned(), dropped.into());
                    told.insert("result".to_owned(), result.into());
                    break;
                }
            };
            done?;
        }
        show(&told, global.json);
        Ok(())
    }
}

/// Steps are talk: they go to standard error, also when nobody looks.
fn talk(sentence: &str) {
    eprintln!("remap: {sentence}");
}

fn show(told: &Map<String, Value>, json: bool) {
    if json {
        output::json(&Value::Object(told.clone()));
        return;
    }
    let text = |name: &str| told.get(name).and_then(Value::as_str).unwrap_or_default();
    let dropped = told.get("dropped") == Some(&Value::Bool(true));
    let (from, to) = (text("from"), text("to"));
    match text("result") {
        "done" if dropped => output::line(&format!(
            "{to} has taken the place of {from}, which is deleted"
        )),
        "done" => output::line(&format!(
            "{to} has taken the place of {from}, which is still there"
        )),
        "aborted" => output::line(&format!("given up: {from} is read and written as before")),
        _ => output::line("nothing was done"),
    }
}

fn refused(why: String) -> CommandError {
    CommandError::new(Code::Search, why).advise("see `sagaline search doctor`")
}

fn moved() -> CommandError {
    CommandError::new(
        Code::NotAllowed,
        "somebody else has moved this remap on meanwhile",
    )
    .advise("run it again to see where it stands")
}

impl From<RemapError> for CommandError {
    fn from(error: RemapError) -> Self {
        match error {
            RemapError::Index(error) => error.into(),
            RemapError::Read(error) => super::verify::failed(error),
            alias @ RemapError::Alias { .. } => Self::new(Code::Search, one_line(&alias)).advise(
                "run `sagaline search doctor`, and `sagaline search init` if it is missing",
            ),
            other @ (RemapError::Write { .. } | _) => {
                Self::new(Code::Unavailable, one_line(&other))
            }
        }
    }
}
