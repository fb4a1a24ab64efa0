//! `cargo xtask ci`: every check of a change, each run whatever the others say, the tests last.

use std::process::Command;
use std::time::Instant;

use anyhow::{Result, bail};
use sagaline_local::{Progress, install_python, root};

use crate::deny::{self, Denied};
use crate::{readme, test, tool};

/// How one check ended.
enum Verdict {
    Ok,
    Skipped(String),
    Failed(String),
}

pub(crate) fn run() -> Result<()> {
    let mut report = Vec::new();
    let mut step = |name: &'static str, check: &dyn Fn() -> Result<Verdict>| {
        eprintln!("== {name}");
        let since = Instant::now();
        let verdict = check().unwrap_or_else(|error| Verdict::Failed(format!("{error:#}")));
        report.push((name, verdict, since.elapsed().as_secs()));
    };
    step("format", &|| {
        passed(tool::cargo(["fmt", "--all", "--check"]))
    });
    step("lints", &|| {
        passed(tool::cargo([
            "clippy",
            "--workspace",
            "--all-targets",
            "--",
            "-D",
            "warnings",
        ]))
    });
    step("fixtures", &|| {
        passed(tool::run(
            Command::new("python3")
                .arg(root().join("fixtures/orders/generate.py"))
                .arg("--check"),
        ))
    });
    step("template", &|| passed(template()));
    step("readme", &|| passed(readme::check()));
    step("licences, bans and sources", &|| {
        Ok(match deny::run()? {
            Denied::Checked => Verdict::Ok,
            Denied::Skipped(why) => Verdict::Skipped(why),
        })
    });
    eprintln!(
        "   (advisories need the internet: .github/workflows/ci.yml checks them, here they are skipped)"
    );
    eprintln!("== tests");
    let tests = test::run(&[]);

    let mut failures = 0_u32;
    for (name, verdict, seconds) in &report {
        let told = match verdict {
            Verdict::Ok => "ok".to_owned(),
            Verdict::Skipped(why) => format!("skipped: {why}"),
            Verdict::Failed(why) => {
                failures += 1;
                format!("FAILED: {why}")
            }
        };
        println!("{name}: {told} ({seconds} s)");
    }
    let tests = match tests {
        Ok(tests) => tests,
        Err(error) => bail!("tests: {error:#}"),
    };
    if let Err(error) = tests.ok() {
        failures += 1;
        println!("tests: FAILED: {error:#}");
    }
    // The last line is the runner's own summary, on stdout; the exit code says the rest.
    println!("{}", tests.summary);
    if failures == 0 {
        Ok(())
    } else {
        std::process::exit(1)
    }
}

fn passed(done: Result<()>) -> Result<Verdict> {
    done.map(|()| Verdict::Ok)
}

/// cfn-lint, then our own rules for the settings that the code relies on.
fn template() -> Result<()> {
    let python = install_python(&Progress::stderr())?;
    // Imported instead of run as a module: the package cannot be executed directly.
    let lint = "import cfnlint.runner.cli; cfnlint.runner.cli.main()";
    tool::run(
        Command::new(&python)
            .args(["-c", lint])
            .arg(root().join("infra/template.yaml")),
    )?;
    tool::run(Command::new(&python).arg(root().join("infra/local/check_template.py")))
}
