//! Checks that the commands of the README exist, with the flags it shows, and that its links lead somewhere. It runs none of them.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use clap::CommandFactory;
use sagaline_local::root;

use crate::{Cli, tool};

pub(crate) fn check() -> Result<()> {
    let path = root().join("README.md");
    let text =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    tool::build_with_tests()?;
    let sagaline = tool::built_dir()?.join("sagaline");
    let mut faults = Vec::new();
    let mut checked = 0_u32;
    for command in commands(&text) {
        let verdict = match command
            .words
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .as_slice()
        {
            ["cargo", "xtask", args @ ..] => xtask_takes(args),
            ["bash", script, ..] => exists(script),
            [program, args @ ..] if *program == "sagaline" || program.ends_with("/sagaline") => {
                sagaline_takes(&sagaline, args)
            }
            _ => continue,
        };
        checked += 1;
        faults.extend(
            verdict
                .err()
                .map(|error| format!("README.md:{}: {error:#}", command.line)),
        );
    }
    faults.extend(
        links(&text)
            .into_iter()
            .filter(|(_, to)| !root().join(to).exists())
            .map(|(line, to)| format!("README.md:{line}: {to} does not exist")),
    );
    if checked == 0 {
        bail!("README.md shows no command to check");
    }
    if !faults.is_empty() {
        bail!("{}", faults.join("\n"));
    }
    eprintln!("   {checked} commands of README.md exist as shown");
    Ok(())
}

/// One command line of a fenced block.
#[derive(Debug, PartialEq, Eq)]
struct Shown {
    line: usize,
    words: Vec<String>,
}

/// The commands in blocks marked `sh` (every line) and `console` (lines that begin with `$ `; the rest is output).
fn commands(text: &str) -> Vec<Shown> {
    let mut commands = Vec::new();
    let mut block: Option<&str> = None;
    let mut unfinished: Option<(usize, String)> = None;
    for (index, line) in text.lines().enumerate() {
        if let Some(mark) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() {
                None
            } else {
                Some(mark.trim())
            };
            continue;
        }
        let shown = match (block, &unfinished) {
            (Some("sh" | "console"), Some(_)) | (Some("sh"), None) => line,
            (Some("console"), None) => match line.strip_prefix("$ ") {
                Some(command) => command,
                None => continue,
            },
            _ => continue,
        };
        let (at, mut whole) = unfinished.take().unwrap_or((index + 1, String::new()));
        whole.push_str(shown.strip_suffix('\\').unwrap_or(shown));
        if shown.ends_with('\\') {
            unfinished = Some((at, whole));
            continue;
        }
        let words = words(&whole);
        if !words.is_empty() {
            commands.push(Shown { line: at, words });
        }
    }
    commands
}

/// The words of a command, quotes taken off, without leading assignments and without what follows `#`, `|`, `&`, `;` or `>`.
fn words(command: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => break,
            (None, '|' | '&' | ';' | '>') => break,
            (None, c) if c.is_whitespace() => words.extend(word.take()),
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    let assignment = |word: &String| {
        word.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_uppercase() || b == b'_')
        })
    };
    words.into_iter().skip_while(assignment).collect()
}

fn xtask_takes(args: &[&str]) -> Result<()> {
    match Cli::command().try_get_matches_from(["cargo xtask"].iter().chain(args)) {
        Ok(_) => Ok(()),
        Err(error) if !error.use_stderr() => Ok(()),
        Err(error) => bail!(
            "cargo xtask {}: {}",
            args.join(" "),
            first_line(&error.to_string())
        ),
    }
}

/// The help of the subcommand must be there and name every flag.
fn sagaline_takes(sagaline: &Path, args: &[&str]) -> Result<()> {
    let subcommand: Vec<_> = args
        .iter()
        .take_while(|arg| !arg.starts_with('-'))
        .take(1)
        .collect();
    let help = Command::new(sagaline)
        .args(&subcommand)
        .arg("--help")
        .stdin(Stdio::null())
        .output()
        .context("cannot run sagaline")?;
    if !help.status.success() {
        bail!(
            "sagaline {}: {}",
            args.join(" "),
            first_line(&String::from_utf8_lossy(&help.stderr))
        );
    }
    let help = String::from_utf8_lossy(&help.stdout);
    for flag in args.iter().filter(|arg| arg.starts_with("--")) {
        let name = flag.split('=').next().unwrap_or(flag);
        if !help
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .any(|word| word == name)
        {
            bail!(
                "sagaline {} has no flag {name}",
                subcommand
                    .iter()
                    .map(|word| **word)
                    .collect::<Vec<_>>()
                    .join(" ")
            );
        }
    }
    Ok(())
}

fn exists(script: &str) -> Result<()> {
    if root().join(script).is_file() {
        Ok(())
    } else {
        bail!("{script} does not exist")
    }
}

/// Relative link targets with their line, without anchors.
fn links(text: &str) -> Vec<(usize, String)> {
    let mut links = Vec::new();
    for (index, line) in text.lines().enumerate() {
        for part in line.split("](").skip(1) {
            let Some((target, _)) = part.split_once(')') else {
                continue;
            };
            let target = target.split('#').next().unwrap_or_default();
            if !target.is_empty() && !target.contains("://") {
                links.push((index + 1, target.to_owned()));
            }
        }
    }
    links
}

fn first_line(text: &str) -> &str {
    text.lines()
        .find(|line| !line.trim().is_empty())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_found_with_their_lines_and_output_is_not_taken_for_one() {
        let text = "# Title\n```sh\n# a comment\nCI=true bash .ci/run   # again\ncargo xtask demo \\\n  --keep\n```\n\
                    ```console\n$ sagaline show o-1 --json | jq '.order'\n{\"order\": 1}\n```\n```rust\nlet x = 1;\n```\n";
        let shown: Vec<_> = commands(text)
            .into_iter()
            .map(|shown| (shown.line, shown.words.join(" ")))
            .collect();
        let expected = [
            (4, "bash .ci/run"),
            (5, "cargo xtask demo --keep"),
            (9, "sagaline show o-1 --json"),
        ];
        assert_eq!(
            shown,
            expected.map(|(line, words)| (line, words.to_owned()))
        );
    }

    #[test]
    fn quoted_words_stay_whole() {
        assert_eq!(
            words("sagaline create --line 'tea:2:500:Green tea' --user \"u 1\""),
            [
                "sagaline",
                "create",
                "--line",
                "tea:2:500:Green tea",
                "--user",
                "u 1"
            ]
        );
    }

    #[test]
    fn flag_that_does_not_exist_is_refused() {
        xtask_takes(&["demo", "--keep", "--json"]).unwrap();
        xtask_takes(&["test", "--", "some_test"]).unwrap();
        xtask_takes(&["demo", "--help"]).unwrap();
        assert!(
            xtask_takes(&["demo", "--fast"])
                .unwrap_err()
                .to_string()
                .contains("--fast")
        );
        assert!(xtask_takes(&["demonstrate"]).is_err());
    }

    #[test]
    fn relative_links_are_found_and_others_are_left_alone() {
        let text = "See [a](ARCHITECTURE.md#map) and [b](https://example.org/x).\n[c](#here) [d](docs/errors/SL0001.md)";
        assert_eq!(
            links(text),
            [
                (1, "ARCHITECTURE.md".to_owned()),
                (2, "docs/errors/SL0001.md".to_owned())
            ]
        );
    }
}
