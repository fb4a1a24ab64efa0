//! The template's checks, run with the pinned Python packages. They are installed first if they are not there.

use std::process::Command;

use anyhow::{Result, ensure};
use sagaline_local::{Progress, install_python, root};

/// Runs Python in `infra/local` and shows what it says when it fails.
fn passes(arguments: &[&str]) -> Result<()> {
    let mut python = Command::new(install_python(&Progress::stderr())?);
    let output = python
        .current_dir(root().join("infra/local"))
        .args(arguments)
        .output()?;
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    ensure!(
        output.status.success(),
        "{arguments:?}\n{}{}",
        text(&output.stdout),
        text(&output.stderr)
    );
    Ok(())
}

// C-46, C-53, C-54, C-55, C-56
#[test]
fn setting_that_the_code_relies_on_is_named_when_it_is_missing() -> Result<()> {
    passes(&["-m", "unittest", "test_check_template"])
}

#[test]
fn template_has_every_setting_that_the_code_relies_on() -> Result<()> {
    passes(&["check_template.py"])
}

#[test]
fn template_is_valid_cloudformation() -> Result<()> {
    passes(&[
        "-c",
        "import cfnlint.runner.cli; cfnlint.runner.cli.main()",
        "--",
        "../template.yaml",
    ])
}

#[test]
fn views_are_sql_that_athena_reads_over_the_templates_tables() -> Result<()> {
    passes(&["-m", "unittest", "test_check_sql"])?;
    passes(&["check_sql.py"])
}
