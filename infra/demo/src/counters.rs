//! What the functions say of themselves: the metrics objects among their lines, added up; all other lines go to a log.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result};
use sagaline_mapping::Output;
use sagaline_testkit::invariants::Outcomes;
use serde_json::Value;

/// The sums by function.
#[derive(Debug)]
pub(crate) struct Counters {
    sums: Mutex<BTreeMap<String, Outcomes>>,
    log: Mutex<File>,
}

impl Counters {
    /// With a fresh log at `path`.
    pub(crate) fn new(path: &Path) -> Result<Arc<Self>> {
        let log =
            File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
        Ok(Arc::new(Self {
            sums: Mutex::default(),
            log: Mutex::new(log),
        }))
    }

    /// Where the functions' lines go.
    pub(crate) fn output(self: &Arc<Self>) -> Output {
        let counters = Arc::clone(self);
        Output::new(move |function, line| counters.read(function, line))
    }

    /// The sums of a function so far.
    pub(crate) fn of(&self, function: &str) -> Option<Outcomes> {
        self.sums
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get(function)
            .copied()
    }

    fn read(&self, function: &str, line: &str) {
        let metrics = serde_json::from_str::<Value>(line)
            .ok()
            .filter(|object| object.get("_aws").is_some() && object.get("RecordsIn").is_some());
        if let Some(metrics) = metrics {
            let mut sums = self.sums.lock().unwrap_or_else(PoisonError::into_inner);
            add(sums.entry(function.to_owned()).or_default(), &metrics);
        }
        // A full disk must not end the demo, and there is nobody else to tell.
        let _ = writeln!(
            self.log.lock().unwrap_or_else(PoisonError::into_inner),
            "[{function}] {line}"
        );
    }
}

fn add(sum: &mut Outcomes, metrics: &Value) {
    let count = |name: &str| metrics.get(name).and_then(Value::as_u64).unwrap_or(0);
    sum.records_in += count("RecordsIn");
    sum.done += count("RecordsDone");
    sum.stale += count("RecordsStale");
    sum.skipped += count("RecordsSkipped");
    sum.parked += count("RecordsParked");
    sum.deferred += count("RecordsDeferred");
    sum.failed += count("RecordsFailed");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_objects_are_added_up_and_other_lines_are_not() {
        let path =
            std::env::temp_dir().join(format!("sagaline-demo-counters-{}", std::process::id()));
        let counters = Counters::new(&path).unwrap();
        let batch = r#"{"_aws":{},"RecordsIn":3,"RecordsDone":2,"RecordsFailed":1}"#;
        for line in [batch, batch, r#"{"level":"INFO","RecordsIn":7}"#, "text"] {
            counters.read("saga", line);
        }
        assert_eq!(
            counters.of("saga"),
            Some(Outcomes {
                records_in: 6,
                done: 4,
                failed: 2,
                ..Outcomes::default()
            })
        );
        assert_eq!(counters.of("projector"), None);
        assert_eq!(std::fs::read_to_string(&path).unwrap().lines().count(), 4);
        std::fs::remove_file(path).unwrap();
    }
}
