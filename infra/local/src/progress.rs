//! Says what is being done: a spinner with the time on a terminal, plain lines elsewhere, always on stderr so that stdout stays data.

use std::io::{IsTerminal, Write};
use std::time::{Duration, Instant};

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

/// Where the steps of a set-up are shown.
#[derive(Clone, Debug)]
pub struct Progress(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Spinners(MultiProgress),
    Lines,
    Quiet,
}

impl Progress {
    /// Spinners when stderr is a terminal, else one plain line at the start and one at the end of each step.
    #[must_use]
    pub fn stderr() -> Self {
        if std::io::stderr().is_terminal() {
            Self(Kind::Spinners(MultiProgress::new()))
        } else {
            Self(Kind::Lines)
        }
    }

    /// Shows nothing.
    #[must_use]
    pub fn quiet() -> Self {
        Self(Kind::Quiet)
    }

    /// Begins a step, e.g. `local AWS: starting`.
    #[must_use]
    pub fn step(&self, what: &str) -> Step {
        let spinner = match &self.0 {
            Kind::Spinners(all) => {
                let style = ProgressStyle::with_template("{spinner} {msg} ({elapsed})")
                    .unwrap_or_else(|_| ProgressStyle::default_spinner());
                let spinner = all.add(
                    ProgressBar::new_spinner()
                        .with_style(style)
                        .with_message(what.to_owned()),
                );
                spinner.enable_steady_tick(Duration::from_millis(120));
                Some(spinner)
            }
            Kind::Lines => {
                self.line(&format!("  {what} ..."));
                None
            }
            Kind::Quiet => None,
        };
        Step {
            progress: self.clone(),
            what: what.to_owned(),
            spinner,
            since: Instant::now(),
            ended: false,
        }
    }

    fn line(&self, text: &str) {
        // A closed stderr must not stop the set-up, and there is nobody else to tell.
        let _ = match &self.0 {
            Kind::Spinners(all) => all.println(text),
            Kind::Lines => writeln!(std::io::stderr(), "{text}"),
            Kind::Quiet => Ok(()),
        };
    }
}

/// One step under way. A step that is dropped without [`Step::done`] has failed and says so.
#[derive(Debug)]
pub struct Step {
    progress: Progress,
    what: String,
    spinner: Option<ProgressBar>,
    since: Instant,
    ended: bool,
}

impl Step {
    /// Ends the step; `result` is a short remark such as an address.
    pub fn done(mut self, result: &str) {
        let what = self.what.clone();
        self.end(&format!("  {what}: {result}"));
    }

    fn end(&mut self, text: &str) {
        self.ended = true;
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
        self.progress.line(&format!(
            "{text} ({:.1} s)",
            self.since.elapsed().as_secs_f32()
        ));
    }
}

impl Drop for Step {
    fn drop(&mut self) {
        if !self.ended {
            let what = self.what.clone();
            self.end(&format!("  {what}: FAILED"));
        }
    }
}
