//! The steps of a remap. Each may be killed in the middle and done again.

use super::check::Check;
use super::stage::{CONFIG, Mark, next};
use super::{moved, refused, talk};
use crate::commands::search::backfill::{Filling, items_about};
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use indicatif::{ProgressBar, ProgressStyle};
use sagaline_lambda::{now, one_line};
use sagaline_search::admin::{Names, mapping_differences};
use sagaline_search::backfill::Tally;
use sagaline_search::remap::{self, Layout};
use sagaline_search::{SearchClient, SearchSink};
use sagaline_sinks::heads;
use sagaline_store::WriteError;
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::Duration;
use tokio::time::interval;

/// What every step needs.
pub(super) struct Work<'w> {
    pub(super) client: &'w SearchClient,
    pub(super) names: &'w Names,
    pub(super) session: &'w Session,
    pub(super) settle: Duration,
    pub(super) max_rcu: Option<u32>,
    pub(super) state: Option<&'w Path>,
}

impl Work<'_> {
    /// Says what would be done.
    pub(super) async fn plan(&self, abort: bool, json: bool) -> Result<(), CommandError> {
        let (_, mark) = self.mark().await?;
        let layout = Layout::read(self.client, self.names).await?;
        let step = next(mark.as_ref(), &layout, abort).map_err(refused)?;
        let (sentence, of) = step.plan();
        let orders = items_about(self.session).await;
        let differences = mapping_differences(self.client, &layout.write).await?;
        let settle = self.settle.as_secs();
        if json {
            let (from, to) = of.map_or((Value::Null, Value::Null), |mark| {
                (mark.from.as_str().into(), mark.to.as_str().into())
            });
            output::json(
                &json!({"result": "dry_run", "next": sentence, "from": from, "to": to, "items_about": orders,
                "differences": differences, "settle_s": settle}),
            );
            return Ok(());
        }
        output::line(&sentence);
        match differences.as_slice() {
            [] => output::line(&format!(
                "the mapping of {} is this version's already",
                layout.write
            )),
            several => several
                .iter()
                .for_each(|what| output::line(&format!("the mapping of {}: {what}", layout.write))),
        }
        if let Some(orders) = orders {
            output::line(&format!("the table has about {orders} items"));
        }
        output::line(&format!(
            "waits {settle} s each time that every writer must have followed"
        ));
        output::line("dry run: nothing was changed; --yes does it");
        Ok(())
    }

    /// The configuration as it stands, and how far the remap is by it.
    pub(super) async fn mark(
        &self,
    ) -> Result<(Option<Map<String, Value>>, Option<Mark>), CommandError> {
        let config = self.session.store.stored_config(CONFIG).await?;
        let mark = config.as_ref().and_then(|config| config.get("remap"));
        let mark = mark
            .map(|mark| serde_json::from_value(mark.clone()))
            .transpose();
        let mark = mark.map_err(|error| {
            CommandError::new(
                Code::BadData,
                format!("CONFIG#search says of a remap what cannot be read: {error}"),
            )
            .advise("use the version of this program that began it")
        })?;
        Ok((config, mark))
    }

    /// Writes how far it is, with the aliases that follow from it, unless somebody else did in between.
    pub(super) async fn put(
        &self,
        read: Option<&Map<String, Value>>,
        mark: Option<&Mark>,
    ) -> Result<(), CommandError> {
        let mut value = read.cloned().unwrap_or_default();
        value.remove("remap");
        let both = mark.is_some_and(|mark| mark.stage.writes_both());
        let targets = if both {
            vec![&self.names.write, &self.names.next, &self.names.old]
        } else {
            vec![&self.names.write]
        };
        value.insert("targets".to_owned(), json!(targets));
        if let Some(mark) = mark {
            value.insert("remap".to_owned(), json!(mark));
        }
        let revision = crate::mint::id();
        match self
            .session
            .store
            .replace_config(CONFIG, read, &revision, value)
            .await
        {
            Ok(true) => Ok(()),
            Ok(false) | Err(WriteError::Conflict) => Err(moved()),
            Err(error) => Err(CommandError::new(Code::Unavailable, one_line(&error))),
        }
    }

    pub(super) async fn fill(
        &self,
        mark: &Mark,
        told: &mut Map<String, Value>,
    ) -> Result<(), CommandError> {
        self.settle(mark).await;
        let sink = SearchSink::new(self.client.clone(), &self.names.next);
        talk(&format!("copying every order to {}", mark.to));
        let tally = self.write_all(&sink, &mark.to).await?;
        let deletions = self.copy_deletions(&mark.from, &sink).await?;
        talk(&format!(
            "{} orders copied, {} were there already, {deletions} deletions copied",
            tally.written, tally.current
        ));
        told.insert("written".to_owned(), tally.written.into());
        told.insert("current".to_owned(), tally.current.into());
        told.insert("deletions".to_owned(), deletions.into());
        talk(&format!("comparing {} with the table", mark.to));
        let check = Check {
            client: self.client,
            session: self.session,
            alias: &self.names.next,
            index: &mark.to,
            old: &mark.from,
        };
        let compared = check.all(&sink).await?;
        told.insert("compared".to_owned(), compared.into());
        // Given up from somewhere else meanwhile: then nobody writes to both any more.
        if self.mark().await?.1.as_ref() != Some(mark) {
            return Err(moved());
        }
        talk(&format!(
            "{compared} orders are right: reading and writing {} from now on",
            mark.to
        ));
        Ok(remap::swap(self.client, self.names, &mark.from, &mark.to).await?)
    }

    /// What was written by one who did not follow in time is found by the list of what was written since.
    pub(super) async fn check_after(&self, mark: &Mark) -> Result<(), CommandError> {
        talk("comparing what was written meanwhile");
        let sink = SearchSink::new(self.client.clone(), &self.names.write);
        self.copy_deletions(&mark.from, &sink).await?;
        let check = Check {
            client: self.client,
            session: self.session,
            alias: &self.names.write,
            index: &mark.to,
            old: &mark.from,
        };
        check.since(mark.since, &sink).await
    }

    /// Brings the old index up to date, which was not written for a while, and reads it again.
    pub(super) async fn refill(&self, mark: &Mark) -> Result<(), CommandError> {
        remap::prepare(self.client, self.names, &mark.from, &mark.to).await?;
        self.settle(mark).await;
        talk(&format!("bringing {} up to date", mark.from));
        let sink = SearchSink::new(self.client.clone(), &self.names.old);
        self.write_all(&sink, &mark.from).await?;
        self.copy_deletions(&mark.to, &sink).await?;
        if self.mark().await?.1.as_ref() != Some(mark) {
            return Err(moved());
        }
        talk(&format!("reading and writing {} again", mark.from));
        Ok(remap::swap_back(self.client, self.names, &mark.from, &mark.to).await?)
    }

    /// Takes the aliases away, and the index that nobody needs. True if that is gone.
    pub(super) async fn end(
        &self,
        mark: &Mark,
        leave: Option<&String>,
    ) -> Result<bool, CommandError> {
        self.settle(mark).await;
        remap::clear(self.client, self.names).await?;
        let Some(index) = leave else {
            return Ok(false);
        };
        talk(&format!("deleting {index}"));
        Ok(remap::drop_index(self.client, index).await?)
    }

    async fn write_all(&self, sink: &SearchSink, index: &str) -> Result<Tally, CommandError> {
        let filling = Filling {
            session: self.session,
            sink,
            alias: index,
            state: self.state,
            max_rcu: self.max_rcu,
        };
        filling.run().await
    }

    async fn copy_deletions(&self, from: &str, sink: &SearchSink) -> Result<u64, CommandError> {
        let reread = |ids: Vec<String>| heads(&self.session.store, ids);
        Ok(remap::copy_deletions(self.client, from, sink, reread).await?)
    }

    /// Waits until every writer has followed the configuration.
    async fn settle(&self, mark: &Mark) {
        let gone = now().as_millis().saturating_sub(mark.since.as_millis());
        let gone = Duration::from_millis(u64::try_from(gone).unwrap_or_default());
        let left = self.settle.saturating_sub(gone);
        if left.is_zero() {
            return;
        }
        talk(&format!(
            "waiting {} s until every writer has followed",
            left.as_secs().max(1)
        ));
        let bar = ProgressBar::new(left.as_secs());
        let style = ProgressStyle::with_template("remap {bar:40} {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let mut ticks = interval(Duration::from_secs(1).min(left));
        let begin = tokio::time::Instant::now();
        while begin.elapsed() < left {
            ticks.tick().await;
            bar.set_position(begin.elapsed().as_secs());
        }
        bar.finish_and_clear();
    }
}
