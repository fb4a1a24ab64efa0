//! `cargo deny`: used where it is there; fetched, within reason, by a CI machine.

use std::env;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};
use sagaline_local::root;

use crate::tool;

/// How long its installation may take: about 6 minutes on two cores.
const INSTALLATION: Duration = Duration::from_secs(15 * 60);

/// Whether the check ran.
pub(crate) enum Denied {
    Checked,
    Skipped(String),
}

/// Checks licences, bans and sources against `deny.toml`.
pub(crate) fn run() -> Result<Denied> {
    let own = root().join(".local/tools/bin/cargo-deny");
    let known = [own.clone().into_os_string(), "cargo-deny".into()]
        .into_iter()
        .find(|program| tool::answers(program, &["--version"]));
    let program = match known {
        Some(program) => program,
        None if env::var_os("CI").is_none() => {
            return Ok(Denied::Skipped(
                "cargo-deny is not installed: `cargo install cargo-deny --locked`".to_owned(),
            ));
        }
        None => match fetch()? {
            true => own.into_os_string(),
            false => {
                return Ok(Denied::Skipped(
                    "cargo-deny could not be installed".to_owned(),
                ));
            }
        },
    };
    let arguments = [
        "--all-features",
        "check",
        "--hide-inclusion-graph",
        "bans",
        "licenses",
        "sources",
    ];
    tool::run(Command::new(program).args(arguments).current_dir(root()))?;
    Ok(Denied::Checked)
}

/// Installs it under `.local/tools`; false if that does not work, or not in time.
fn fetch() -> Result<bool> {
    eprintln!("   cargo-deny: installing under .local/tools (minutes)");
    let to = root().join(".local/tools").display().to_string();
    let install = tool::cargo_command([
        "install",
        "cargo-deny",
        "--locked",
        "--quiet",
        "--root",
        &to,
    ]);
    let mut child = tool::guarded(&install)
        .spawn()
        .context("cannot start cargo install")?;
    let lifeline = child.stdin.take();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || {
        // Nobody listens any more when it took too long.
        let _ = tell.send(child.wait().is_ok_and(|status| status.success()));
    });
    let installed = told.recv_timeout(INSTALLATION).unwrap_or(false);
    drop(lifeline);
    Ok(installed)
}
