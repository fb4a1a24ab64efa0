//! What must be on the machine already: Python, and Java with Maven unless an OpenSearch server is given. (Rust is there: it runs this.)

use std::process::{Command, Stdio};

use anyhow::{Result, bail};

/// The oldest Python that the pinned packages run on.
const PYTHON: &str = "3.10";
/// The oldest Java that the embedded OpenSearch 2.19 is run on here.
const JAVA: &str = "17";
/// The oldest Maven whose dependency plugin copies the libraries.
const MAVEN: &str = "3.6";

/// Checks what the local stack needs. `opensearch` is the URL of a server that already runs, which makes Java and Maven unnecessary.
///
/// # Errors
/// One line for each thing that is missing or too old: which, what was found, how to get it.
pub fn check(opensearch: Option<&str>) -> Result<()> {
    let mut missing = Vec::new();
    missing.extend(python());
    if opensearch.is_none() {
        missing.extend(java());
        missing.extend(maven());
    }
    refuse(&missing)
}

/// Checks only what the template's tools need.
pub(crate) fn check_python() -> Result<()> {
    refuse(&Vec::from_iter(python()))
}

fn refuse(missing: &[String]) -> Result<()> {
    if missing.is_empty() {
        return Ok(());
    }
    bail!("{}", missing.join("\n"))
}

fn python() -> Option<String> {
    let how = "install it, e.g. `apt-get install python3 python3-venv` or `brew install python`";
    require("Python", PYTHON, said("python3", &["--version"]), how).or_else(|| {
        let venv = said("python3", &["-c", "import ensurepip, venv; print('ok')"])
            .is_some_and(|out| out.contains("ok"));
        (!venv).then(|| {
            format!(
                "Python {PYTHON} or newer with its venv module is needed, found one without: {how}"
            )
        })
    })
}

fn java() -> Option<String> {
    let how = "install a JDK, e.g. `apt-get install openjdk-17-jdk-headless` or `brew install openjdk@17`, or pass --opensearch URL to use a server that already runs";
    require("Java", JAVA, said("java", &["-version"]), how).or_else(|| {
        // A JRE cannot run a single source file.
        let compiler =
            said("java", &["--list-modules"]).is_some_and(|out| out.contains("jdk.compiler"));
        (!compiler).then(|| {
            format!("a Java {JAVA} or newer JDK is needed, found a JRE without compiler: {how}")
        })
    })
}

fn maven() -> Option<String> {
    let how = "install it, e.g. `apt-get install maven` or `brew install maven`, or pass --opensearch URL to use a server that already runs";
    require("Maven", MAVEN, said("mvn", &["--version"]), how)
}

/// What a program says, on stdout and stderr (Java's version goes to stderr). None if it is not there or fails.
fn said(program: &str, args: &[&str]) -> Option<String> {
    let output = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .output()
        .ok()?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    output
        .status
        .success()
        .then(|| text(&output.stdout) + &text(&output.stderr))
}

fn require(name: &str, least: &str, said: Option<String>, how: &str) -> Option<String> {
    let Some(said) = said else {
        return Some(format!(
            "{name} {least} or newer is needed, found none: {how}"
        ));
    };
    let found = first_version(&said).unwrap_or("no version");
    (numbers(found) < numbers(least))
        .then(|| format!("{name} {least} or newer is needed, found {found}: {how}"))
}

/// The first word that begins with a digit. (Maven colours the others, and Java quotes this one.)
fn first_version(text: &str) -> Option<&str> {
    text.split_whitespace()
        .map(|word| word.trim_matches('"'))
        .find(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

fn numbers(version: &str) -> Vec<u32> {
    version
        .split('.')
        .map_while(|part| part.parse().ok())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_line(said: Option<&str>, expected: Option<&str>) {
        let line = require("Tool", "3.7", said.map(str::to_owned), "get it");
        assert_eq!(line.as_deref(), expected);
    }

    #[test]
    fn a_version_is_compared_by_its_numbers_and_the_line_names_what_was_found() {
        check_line(Some("Python 3.11.7"), None);
        check_line(Some("Python 3.10"), None);
        check_line(Some("openjdk version \"17.0.15\" 2025-04-15"), None);
        check_line(
            Some("Python 3.6.2"),
            Some("Tool 3.7 or newer is needed, found 3.6.2: get it"),
        );
        check_line(
            Some("java version \"1.8.0_292\""),
            Some("Tool 3.7 or newer is needed, found 1.8.0_292: get it"),
        );
        check_line(Some("\u{1b}[1mApache Maven 3.8.7\u{1b}[m"), None);
        check_line(
            Some("nothing"),
            Some("Tool 3.7 or newer is needed, found no version: get it"),
        );
        check_line(
            None,
            Some("Tool 3.7 or newer is needed, found none: get it"),
        );
    }
}
