//! Whether the index holds what the table says, and repairing it where it does not.
//!
//! Each head is projected once more and compared with the stored document: its version first, then its content. The stream and the index go on
//! meanwhile, so what differs is only a suspicion: after a while its head is read again, then its document, and what still differs is a finding.
//! A repair cannot undo anything newer, because versions decide. Memory holds a page of either side, and at most [`MOST_KEPT`] findings.
//!
//! Start reading at [`Verifier::check`]. It refuses to know where heads come from, and who is told of the findings.

mod findings;
mod stored;

pub use findings::{Drift, Finding, Findings, MOST_KEPT};

use crate::admin::AdminError;
use crate::backfill::{ScannedPage, Segment, State, name_of, write_out};
use crate::bulk::request::VersionRule;
use crate::client::SearchClient;
use crate::document::{SearchInput, document_id};
use crate::pause::pause;
use crate::sink::{SearchSink, SinkVerdict};
use aws_sdk_dynamodb::types::AttributeValue;
use sagaline_stream::BoxError;
use std::collections::{HashMap, HashSet};
use std::future::Future;
use std::time::Duration;
use stored::{Hit, compare};
pub(crate) use stored::{documents, tombstones};
use thiserror::Error;

/// Documents asked for at a time.
const PAGE_DOCUMENTS: usize = 500;

/// How long the stream gets to bring what the index lacks, before it counts as lacking.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often it gets that time. An index that lacks something on so many pages is not just a little late.
const PATIENT_PAGES: u32 = 10;

/// Why a document that is not there can be refused as too old.
const DELETED_LATELY: &str = "it was deleted from the index lately, and its version is remembered for a minute (index.gc_deletes): repair again then";

/// Why a verification stopped. What was found before stands.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The index did not answer, or not with success.
    #[error("the index could not be read")]
    Index(#[from] AdminError),
    /// The index answered with something else than what was asked for.
    #[error("the answer to {path} cannot be used: {why}")]
    Answer {
        /// The path.
        path: String,
        /// What is wrong with it.
        why: String,
    },
    /// Heads could not be read.
    #[error("heads could not be read")]
    Heads(#[source] BoxError),
}

/// A head as the table gives it.
type Item = HashMap<String, AttributeValue>;

/// A verification under way.
#[derive(Debug)]
pub struct Verifier<'v, R> {
    client: &'v SearchClient,
    alias: &'v str,
    reread: R,
    repair: Option<&'v SearchSink>,
    patience: Duration,
    patient_pages: u32,
    findings: Findings,
}

/// A head whose document differs.
struct Suspect {
    drift: Drift,
    head: SearchInput,
    index_version: Option<i64>,
}

impl<'v, R, F> Verifier<'v, R>
where
    R: Fn(Vec<String>) -> F,
    F: Future<Output = Result<Vec<Item>, BoxError>>,
{
    /// Of the index behind `alias`, the write alias: the one for reading hides tombstones from searches. `reread` gives the heads of orders
    /// by their ids, strongly consistent and in any order, without those that are not there.
    pub fn new(client: &'v SearchClient, alias: &'v str, reread: R) -> Self {
        Self {
            client,
            alias,
            reread,
            repair: None,
            patience: PATIENCE,
            patient_pages: PATIENT_PAGES,
            findings: Findings::default(),
        }
    }

    /// Repairs through that sink what it finds.
    #[must_use]
    pub fn repairing(mut self, sink: &'v SearchSink) -> Self {
        self.repair = Some(sink);
        self
    }

    /// With another time for the stream to bring what is on its way.
    #[must_use]
    pub fn patient_for(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// However many pages differ, each gets that time: for one who cannot do with a finding that is only late.
    #[must_use]
    pub fn patient_on_every_page(mut self) -> Self {
        self.patient_pages = u32::MAX;
        self
    }

    /// What was found.
    #[must_use]
    pub fn into_findings(self) -> Findings {
        self.findings
    }

    /// Compares the heads of the whole table, page by page as [`crate::backfill::scan_page`] gives them for one segment, then looks for
    /// documents without a head.
    ///
    /// # Errors
    /// [`VerifyError`]
    pub async fn check_all<S>(&mut self, pages: impl Fn(Segment) -> S) -> Result<(), VerifyError>
    where
        S: Future<Output = Result<ScannedPage, BoxError>>,
    {
        for mut segment in State::new(1).segments {
            let mut page = pages(segment.clone()).await.map_err(VerifyError::Heads)?;
            while let Some(next) = page.next.take() {
                segment.after = Some(next);
                // The next page comes while this one is compared.
                let (checked, next) =
                    futures::join!(self.check(&page.heads), pages(segment.clone()));
                checked?;
                page = next.map_err(VerifyError::Heads)?;
            }
            self.check(&page.heads).await?;
        }
        self.find_extra().await
    }

    /// Compares these heads with their documents.
    ///
    /// # Errors
    /// [`VerifyError`]
    pub async fn check(&mut self, heads: &[Item]) -> Result<(), VerifyError> {
        for page in heads.chunks(PAGE_DOCUMENTS) {
            let inputs = self.project(page);
            self.findings.heads += u64::try_from(inputs.len()).unwrap_or_default();
            let suspects = self.differing(inputs).await?;
            if suspects.is_empty() {
                continue;
            }
            self.wait().await;
            let again = self.heads_of(&suspects).await?;
            let again = self.project(&again);
            let mut drifted = self.differing(again).await?;
            self.acquit_moved(&mut drifted).await?;
            self.settle(drifted).await?;
        }
        Ok(())
    }

    /// Looks for documents that have no head and are no tombstones, in the order of their order ids. Of documents without an order id it
    /// finds a page.
    ///
    /// # Errors
    /// [`VerifyError`]
    pub async fn find_extra(&mut self) -> Result<(), VerifyError> {
        let mut after = None;
        loop {
            let page = stored::alive(self.client, self.alias, PAGE_DOCUMENTS, after.as_ref());
            let (hits, next) = page.await?;
            let suspects = self.without_head(hits).await?;
            if !suspects.is_empty() {
                // Created after the table was read, or removed with the tombstone on its way.
                self.wait().await;
                let suspects = self.without_head(suspects).await?;
                let ids: Vec<&str> = suspects.iter().map(|hit| hit.id.as_str()).collect();
                let documents = stored::documents(self.client, self.alias, &ids).await?;
                for (id, document) in ids.iter().zip(documents) {
                    if let Some(document) = document.filter(|document| !document.is_tombstone()) {
                        self.findings.add(Finding {
                            drift: Drift::Extra,
                            order_id: (*id).to_owned(),
                            head_version: None,
                            index_version: Some(document.version),
                            repaired: false,
                            why: None,
                        });
                    }
                }
            }
            if next.is_none() || next == after {
                return Ok(());
            }
            after = next;
        }
    }

    /// The documents that heads ought to have, each order once.
    fn project(&mut self, heads: &[Item]) -> Vec<SearchInput> {
        let mut inputs: Vec<SearchInput> = Vec::with_capacity(heads.len());
        let mut seen = HashSet::with_capacity(heads.len());
        for head in heads {
            let input = SearchInput::from_item(head).map_err(|failure| failure.chain());
            match input.and_then(|input| match input.document() {
                Ok(_) => Ok(input),
                Err(reason) => Err(reason.to_owned()),
            }) {
                Ok(input) => {
                    if seen.insert(input.order_id().to_owned()) {
                        inputs.push(input);
                    }
                }
                Err(reason) => {
                    self.findings
                        .add_refused(format!("{}: {reason}", name_of(head)));
                }
            }
        }
        inputs
    }

    async fn differing(&self, inputs: Vec<SearchInput>) -> Result<Vec<Suspect>, VerifyError> {
        let ids: Vec<_> = inputs
            .iter()
            .map(|input| document_id(input.order_id()))
            .collect();
        let documents = stored::documents(self.client, self.alias, &ids).await?;
        drop(ids);
        let pairs = inputs.into_iter().zip(documents);
        Ok(pairs
            .filter_map(|(head, document)| {
                Some(Suspect {
                    drift: compare(&head, document.as_ref())?,
                    head,
                    index_version: document.map(|document| document.version),
                })
            })
            .collect())
    }

    async fn heads_of(&self, suspects: &[Suspect]) -> Result<Vec<Item>, VerifyError> {
        let ids = suspects
            .iter()
            .map(|suspect| suspect.head.order_id().to_owned())
            .collect();
        (self.reread)(ids).await.map_err(VerifyError::Heads)
    }

    /// A document can only be said to be ahead of a head that was read after it: the order may have moved in between, or be gone.
    async fn acquit_moved(&mut self, drifted: &mut Vec<Suspect>) -> Result<(), VerifyError> {
        let ahead = drifted.extract_if(.., |suspect| suspect.drift == Drift::Ahead);
        let ahead: Vec<Suspect> = ahead.collect();
        if ahead.is_empty() {
            return Ok(());
        }
        let now = self.heads_of(&ahead).await?;
        let now: HashMap<String, i64> = self
            .project(&now)
            .into_iter()
            .map(|head| (head.order_id().to_owned(), head.version()))
            .collect();
        drifted.extend(ahead.into_iter().filter(|suspect| {
            let version = now.get(suspect.head.order_id());
            version.is_some_and(|version| suspect.index_version > Some(*version))
        }));
        Ok(())
    }

    /// Of documents that are no tombstones those whose head is absent.
    async fn without_head(&self, hits: Vec<Hit>) -> Result<Vec<Hit>, VerifyError> {
        let ids: Vec<String> = hits
            .iter()
            .filter_map(|hit| hit.order_id().map(str::to_owned))
            .collect();
        let heads = if ids.is_empty() {
            Vec::new()
        } else {
            (self.reread)(ids).await.map_err(VerifyError::Heads)?
        };
        let there: HashSet<&str> = heads
            .iter()
            .filter_map(|head| name_of(head).strip_prefix("ORDER#"))
            .collect();
        let absent = |hit: &Hit| {
            hit.order_id()
                .is_none_or(|order_id| !there.contains(order_id))
        };
        Ok(hits.into_iter().filter(absent).collect())
    }

    /// Repairs what can be repaired, and takes everything down.
    async fn settle(&mut self, drifted: Vec<Suspect>) -> Result<(), VerifyError> {
        let mut by_rule: [(VersionRule, Vec<SearchInput>); 2] = [
            (VersionRule::External, Vec::new()),
            (VersionRule::ExternalOrSame, Vec::new()),
        ];
        let mut found = Vec::with_capacity(drifted.len());
        for suspect in drifted {
            found.push(Finding {
                drift: suspect.drift,
                order_id: suspect.head.order_id().to_owned(),
                head_version: Some(suspect.head.version()),
                index_version: suspect.index_version,
                repaired: false,
                why: None,
            });
            let rule = suspect.drift.repaired_by();
            if let Some((_, inputs)) = by_rule.iter_mut().find(|(of, _)| Some(*of) == rule) {
                inputs.push(suspect.head);
            }
        }
        let result = match self.repair {
            Some(sink) => self.repair(sink, by_rule, &mut found).await,
            None => Ok(()),
        };
        // What was found stands, whatever came then.
        found
            .into_iter()
            .for_each(|finding| self.findings.add(finding));
        result
    }

    async fn repair(
        &self,
        sink: &SearchSink,
        by_rule: [(VersionRule, Vec<SearchInput>); 2],
        found: &mut [Finding],
    ) -> Result<(), VerifyError> {
        let mut verdicts = HashMap::new();
        for (rule, inputs) in by_rule {
            for (input, verdict) in write_out(sink, rule, inputs).await {
                verdicts.insert(input.order_id().to_owned(), verdict);
            }
        }
        let mut refused_as_old = Vec::new();
        for finding in found {
            match verdicts.remove(&finding.order_id) {
                Some(SinkVerdict::Done) => finding.repaired = true,
                Some(SinkVerdict::Stale) => refused_as_old.push(finding),
                Some(SinkVerdict::Refused(why) | SinkVerdict::Retry(why)) => {
                    finding.why = Some(why);
                }
                Some(SinkVerdict::Behind(_)) | None => {}
            }
        }
        // Something newer has come meanwhile, or something newer was deleted: only the index knows.
        let ids: Vec<_> = refused_as_old
            .iter()
            .map(|finding| document_id(&finding.order_id).into_owned())
            .collect();
        let documents = stored::documents(self.client, self.alias, &ids).await?;
        for (finding, document) in refused_as_old.into_iter().zip(documents) {
            finding.repaired =
                document.is_some_and(|document| Some(document.version) >= finding.head_version);
            if !finding.repaired {
                finding.why = Some(DELETED_LATELY.to_owned());
            }
        }
        Ok(())
    }

    async fn wait(&mut self) {
        if self.patient_pages > 0 {
            self.patient_pages -= 1;
            pause(self.patience).await;
        }
    }
}
