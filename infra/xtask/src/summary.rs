//! The test runner's own summaries, added up: cargo prints one for each test program.

use std::fmt;

/// What `test result:` lines said so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Summary {
    passed: u64,
    failed: u64,
    skipped: u64,
}

impl Summary {
    /// Adds a line of the runner's output; any other line changes nothing.
    pub(crate) fn read(&mut self, line: &str) {
        let Some(result) = line.trim().strip_prefix("test result: ") else {
            return;
        };
        for part in result.split(['.', ';']) {
            let Some((count, what)) = part.trim().split_once(' ') else {
                continue;
            };
            let Ok(count) = count.parse::<u64>() else {
                continue;
            };
            match what {
                "passed" => self.passed += count,
                "failed" => self.failed += count,
                "ignored" => self.skipped += count,
                _ => {}
            }
        }
    }

    pub(crate) fn has_failures(self) -> bool {
        self.failed > 0
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} passed, {} failed", self.passed, self.failed)?;
        if self.skipped > 0 {
            write!(f, ", {} skipped", self.skipped)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(output: &str, expected: &str) {
        let mut summary = Summary::default();
        output.lines().for_each(|line| summary.read(line));
        assert_eq!(summary.to_string(), expected);
    }

    #[test]
    fn results_of_all_test_programs_are_added_up() {
        check("", "0 passed, 0 failed");
        check(
            "running 2 tests\ntest a ... ok\n\
             test result: ok. 2 passed; 0 failed; 0 ignored; 0 measured; 6 filtered out; finished in 0.15s\n\
             test result: FAILED. 9 passed; 1 failed; 3 ignored; 0 measured; 0 filtered out; finished in 12.00s\n",
            "11 passed, 1 failed, 3 skipped",
        );
    }

    #[test]
    fn text_that_only_looks_like_a_result_is_no_result() {
        check(
            "the log says test result: ok. 5 passed; 0 failed\n9 passed",
            "0 passed, 0 failed",
        );
    }
}
