//! `sagaline search verify`: compares the index with the table, and repairs it.

use super::FEW;
use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::output;
use crate::session::Session;
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use sagaline_lambda::{now, one_line};
use sagaline_order::{Seconds, Timestamp};
use sagaline_search::admin::Names;
use sagaline_search::backfill::{Segment, scan_page};
use sagaline_search::verify::{Drift, Finding, Findings, Verifier, VerifyError};
use sagaline_search::{SearchClient, SearchSink};
use sagaline_sinks::{heads, verify_since};
use sagaline_store::StoreError;
use serde_json::{Map, Value, json};

/// Compares the index with the table; exit code 1 if they differ.
///
/// Every head is projected again and compared with the stored document, version and content. What the stream may still bring gets a moment.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline search verify
  sagaline search verify --since 1d --repair
  sagaline search verify --all --json

missing   no document                            --repair writes it
stale     a document of an older version         --repair writes the head's
damaged   the right version, other content       --repair writes it again
extra     a document without a head (--all)      a remap leaves it out
ahead     a newer version than the head's, as after a restore of the table: only a remap repairs it

--repair is safe under live writes: versions decide. Orders that were removed are looked at with --all only.
What is found is counted in full; the first 10,000 findings are listed.")]
pub(super) struct Verify {
    /// The orders that were written within this time: 90s, 30m, 2h, 7d.
    #[arg(long, value_name = "TIME", default_value = "2h", conflicts_with = "all", value_parser = length)]
    since: Seconds,
    /// All orders, and documents that have none.
    #[arg(long)]
    all: bool,
    /// Write what is missing, stale or damaged.
    #[arg(long)]
    repair: bool,
}

impl Verify {
    pub(super) async fn run(
        self,
        client: SearchClient,
        names: &Names,
        global: &Global,
    ) -> Result<(), CommandError> {
        let session = Session::open(global).await?;
        let store = &session.store;
        let sink = self
            .repair
            .then(|| SearchSink::new(client.clone(), &names.write));
        if let Some(sink) = &sink {
            // While a remap is under way a repair goes to both indices, like every other write.
            sink.set_targets(store.search_targets(now()).await.unwrap_or_default());
        }
        let reread = |ids: Vec<String>| heads(store, ids);
        let mut verifier = Verifier::new(&client, &names.write, reread);
        if let Some(sink) = &sink {
            verifier = verifier.repairing(sink);
        }
        let bar = &progress();
        let result = if self.all {
            let (dynamo, table) = (&session.aws.dynamodb(), session.table.as_str());
            let pages = |segment: Segment| async move {
                let page = scan_page(dynamo, table, 1, &segment).await?;
                bar.inc(u64::try_from(page.heads.len()).unwrap_or_default());
                Ok(page)
            };
            verifier.check_all(pages).await.map_err(failed)
        } else {
            let from = now().as_millis() - 1_000 * i64::from(self.since.0);
            let from = Timestamp::from_millis(from).ok_or_else(|| {
                CommandError::new(Code::BadInput, "--since: no order can be that old")
            })?;
            let on_page = |heads| bar.inc(u64::try_from(heads).unwrap_or_default());
            verify_since(&mut verifier, store, (from, now()), on_page)
                .await
                .map_err(failed)
        };
        bar.finish_and_clear();
        let findings = verifier.into_findings();
        // What was found stands, whatever came then.
        tell(&findings, result.is_ok(), global.json);
        result?;
        match findings.left() {
            0 => Ok(()),
            left => Err(drifted(&findings, left, self.repair)),
        }
    }
}

pub(super) fn failed(error: VerifyError) -> CommandError {
    match error {
        VerifyError::Index(error) => error.into(),
        VerifyError::Heads(source) => match source.downcast::<StoreError>() {
            Ok(error) => CommandError::of_store(&error),
            Err(source) => CommandError::new(Code::Unavailable, one_line(&*source)),
        },
        other @ (VerifyError::Answer { .. } | _) => {
            CommandError::new(Code::Search, one_line(&other))
        }
    }
}

fn drifted(findings: &Findings, left: usize, repair: bool) -> CommandError {
    let mut advice = Vec::new();
    let open = |drift| findings.open(drift);
    if open(Drift::Missing) + open(Drift::Stale) + open(Drift::Damaged) > 0 {
        advice.push(if repair {
            "read why above and repair again"
        } else {
            "run it again with --repair"
        });
    }
    if open(Drift::Ahead) > 0 {
        advice.push("an index that is ahead of the table is repaired by a remap only");
    }
    if open(Drift::Extra) > 0 {
        advice.push("a remap leaves out documents without an order");
    }
    CommandError::new(
        Code::CheckFailed,
        format!("{left} documents are not what the table says"),
    )
    .advise(advice.join("; "))
}

fn tell(findings: &Findings, whole: bool, json: bool) {
    if json {
        output::json(&document(findings, whole));
        return;
    }
    if findings.total() > 0 {
        let version = |version: Option<i64>| version.map_or_else(String::new, |v| v.to_string());
        let rows = findings.found().iter().take(FEW).map(|finding| {
            [
                finding.drift.as_str().to_owned(),
                finding.order_id.clone(),
                version(finding.head_version),
                version(finding.index_version),
                in_words(finding),
            ]
        });
        output::line(&output::table(["", "order", "table", "index", ""], rows));
        if findings.total() > FEW {
            output::line(&format!("and {} more: see --json", findings.total() - FEW));
        }
    }
    for refused in findings.refused().iter().take(FEW) {
        output::line(&format!("never in the index: {refused}"));
    }
    if findings.refusals() > FEW {
        let more = findings.refusals() - FEW;
        output::line(&format!("and {more} more: see --json"));
    }
    let counts: Vec<String> = Drift::ALL
        .map(|drift| format!("{} {}", findings.count(drift), drift.as_str()))
        .to_vec();
    output::line(&format!(
        "{} orders compared: {}, {} repaired{}",
        findings.heads,
        counts.join(", "),
        findings.total() - findings.left(),
        if whole { "" } else { "; not finished" }
    ));
}

fn in_words(finding: &Finding) -> String {
    match (finding.repaired, finding.drift, &finding.why) {
        (true, ..) => "repaired".to_owned(),
        (false, _, Some(why)) => why.clone(),
        (false, Drift::Ahead, None) => "only a remap repairs it".to_owned(),
        (false, Drift::Extra, None) => "a remap leaves it out".to_owned(),
        (false, Drift::Missing | Drift::Stale | Drift::Damaged, None) => String::new(),
    }
}

fn document(findings: &Findings, whole: bool) -> Value {
    let counts: Map<String, Value> = Drift::ALL
        .iter()
        .map(|drift| (drift.as_str().to_owned(), findings.count(*drift).into()))
        .collect();
    let found: Vec<Value> = findings
        .found()
        .iter()
        .map(|finding| {
            json!({"drift": finding.drift.as_str(), "order_id": finding.order_id, "head_version": finding.head_version,
                "index_version": finding.index_version, "repaired": finding.repaired, "why": finding.why})
        })
        .collect();
    json!({"heads": findings.heads, "finished": whole, "counts": counts, "left": findings.left(), "found": found,
        "refused": findings.refused(), "refusals": findings.refusals()})
}

/// A length as in `2h`.
fn length(text: &str) -> Result<Seconds, String> {
    let rule = || "must be a number and s, m, h or d, as in 2h".to_owned();
    let unit = match text.chars().last() {
        Some('s') => 1,
        Some('m') => 60,
        Some('h') => 60 * 60,
        Some('d') => 24 * 60 * 60,
        Some(_) | None => return Err(rule()),
    };
    let number = text.get(..text.len() - 1).unwrap_or_default();
    let number: u32 = number.parse().map_err(|_| rule())?;
    match number.checked_mul(unit) {
        Some(seconds @ 1..) => Ok(Seconds(seconds)),
        Some(0) | None => Err(rule()),
    }
}

/// A count on standard error; nothing where that is no terminal.
pub(super) fn progress() -> ProgressBar {
    let bar = ProgressBar::no_length();
    let style = ProgressStyle::with_template("verify {spinner} {pos} orders, {per_sec}");
    bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_spinner()));
    bar
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_a_number_and_a_unit() {
        assert_eq!(length("90s"), Ok(Seconds(90)));
        assert_eq!(length("2h"), Ok(Seconds(7_200)));
        assert_eq!(length("7d"), Ok(Seconds(604_800)));
        for bad in ["", "h", "2", "0h", "-1h", "2é", "2 h", "99999999d"] {
            assert!(length(bad).is_err(), "{bad}");
        }
    }

    fn finding(drift: Drift, repaired: bool) -> Finding {
        Finding {
            drift,
            order_id: "o-1".to_owned(),
            head_version: Some(2),
            index_version: None,
            repaired,
            why: None,
        }
    }

    #[test]
    fn what_is_left_is_counted_and_each_kind_has_its_way_out() {
        let mut findings = Findings::default();
        for one in [
            finding(Drift::Missing, true),
            finding(Drift::Stale, false),
            finding(Drift::Ahead, false),
        ] {
            findings.add(one);
        }
        findings.add_refused("ORDER#o-2: no".to_owned());
        let json = document(&findings, true);
        assert_eq!(json["counts"]["missing"], 1);
        assert_eq!(json["counts"]["extra"], 0);
        assert_eq!(json["left"], 2);
        assert_eq!(json["found"][1]["drift"], "stale");
        let error = drifted(&findings, 2, false).to_string();
        assert!(
            error.starts_with("error[SL4001]: 2 documents are not what the table says; "),
            "{error}"
        );
        assert!(
            error.contains(
                "with --repair; an index that is ahead of the table is repaired by a remap only"
            ),
            "{error}"
        );
    }
}
