//! Whether the new index may be read: it holds what the table says, or what it lacks the old one lacks, too.

use super::talk;
use crate::commands::search::FEW;
use crate::commands::search::verify::{failed, progress};
use crate::error::{Code, CommandError};
use crate::session::Session;
use sagaline_lambda::now;
use sagaline_order::Timestamp;
use sagaline_search::backfill::{Segment, scan_page};
use sagaline_search::remap::versions;
use sagaline_search::verify::{Drift, Finding, Findings, Verifier};
use sagaline_search::{SearchClient, SearchSink};
use sagaline_sinks::{heads, verify_since};

/// An index under examination.
pub(super) struct Check<'c> {
    pub(super) client: &'c SearchClient,
    pub(super) session: &'c Session,
    /// The alias that leads to it.
    pub(super) alias: &'c str,
    /// Its name.
    pub(super) index: &'c str,
    /// The index that it takes the place of.
    pub(super) old: &'c str,
}

impl Check<'_> {
    /// Compares everything. What is late is written by `sink`. Returns how many orders there are.
    pub(super) async fn all(&self, sink: &SearchSink) -> Result<u64, CommandError> {
        let (dynamo, table) = (&self.session.aws.dynamodb(), self.session.table.as_str());
        let bar = &progress();
        let pages = |segment: Segment| async move {
            let page = scan_page(dynamo, table, 1, &segment).await?;
            bar.inc(u64::try_from(page.heads.len()).unwrap_or_default());
            Ok(page)
        };
        let reread = |ids: Vec<String>| heads(&self.session.store, ids);
        let mut verifier = Verifier::new(self.client, self.alias, reread)
            .repairing(sink)
            .patient_on_every_page();
        sagaline_search::remap::refresh(self.client, self.alias).await?;
        let result = verifier.check_all(pages).await;
        bar.finish_and_clear();
        result.map_err(failed)?;
        let findings = verifier.into_findings();
        let compared = findings.heads;
        self.judge(&findings).await?;
        Ok(compared)
    }

    /// Compares what was written since.
    pub(super) async fn since(
        &self,
        from: Timestamp,
        sink: &SearchSink,
    ) -> Result<(), CommandError> {
        let reread = |ids: Vec<String>| heads(&self.session.store, ids);
        let mut verifier = Verifier::new(self.client, self.alias, reread)
            .repairing(sink)
            .patient_on_every_page();
        let result = verify_since(&mut verifier, &self.session.store, (from, now()), |_| {}).await;
        result.map_err(failed)?;
        self.judge(&verifier.into_findings()).await
    }

    async fn judge(&self, findings: &Findings) -> Result<(), CommandError> {
        if findings.left() == 0 {
            return Ok(());
        }
        let open: Vec<&Finding> = findings
            .found()
            .iter()
            .filter(|finding| !finding.repaired)
            .collect();
        let ids: Vec<&str> = open
            .iter()
            .map(|finding| finding.order_id.as_str())
            .collect();
        let old = versions(self.client, self.old, &ids)
            .await
            .map_err(failed)?;
        let mut bad = Vec::new();
        for (finding, old) in open.into_iter().zip(old) {
            // What neither index takes is no reason to keep the old one: it is parked, or will be.
            let neither = matches!(finding.drift, Drift::Missing | Drift::Stale)
                && old < finding.head_version;
            let why = finding.why.as_deref().unwrap_or("no reason given");
            let line = format!("{} {}: {why}", finding.drift.as_str(), finding.order_id);
            if neither {
                talk(&format!("in neither index: {line}"));
            } else {
                bad.push(line);
            }
        }
        // Beyond what is kept of findings nothing is known.
        let unknown = findings.total() > findings.found().len();
        if bad.is_empty() && !unknown {
            return Ok(());
        }
        let count = if unknown { findings.left() } else { bad.len() };
        bad.truncate(FEW);
        let what = format!(
            "{count} documents of {} are not what the table says, and those of {} are",
            self.index, self.old
        );
        Err(CommandError::new(Code::CheckFailed, what)
            .advise(
                "correct what is refused and run the remap again, or give it up with --abort --yes",
            )
            .with_details(bad))
    }
}
