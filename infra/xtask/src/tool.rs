//! Child processes: cargo, and long ones under the guard that ends them with their caller.

use std::env;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use sagaline_local::root;

/// A function of the template: its folder in `dist/`, its cargo package and the program that the package builds.
pub(crate) struct Function {
    pub(crate) name: &'static str,
    pub(crate) package: &'static str,
    pub(crate) program: &'static str,
}

/// The four functions.
pub(crate) const FUNCTIONS: [Function; 4] = [
    Function {
        name: "saga",
        package: "saga-processor",
        program: "sagaline-saga-processor",
    },
    Function {
        name: "projector",
        package: "projector",
        program: "sagaline-projector",
    },
    Function {
        name: "sweeper",
        package: "sweeper",
        program: "sagaline-sweeper",
    },
    Function {
        name: "redrive",
        package: "redrive",
        program: "sagaline-redrive",
    },
];

/// The package of the command line.
pub(crate) const COMMAND_LINE: &str = "sagaline-cli";

/// The cargo that runs this, in the workspace's root.
pub(crate) fn cargo_command<'a>(args: impl IntoIterator<Item = &'a str>) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root()).stdin(Stdio::null());
    command
}

/// Runs cargo to its end, its talk on our own stdout and stderr.
pub(crate) fn cargo<'a>(args: impl IntoIterator<Item = &'a str>) -> Result<()> {
    run(&mut cargo_command(args))
}

/// Builds packages for development.
pub(crate) fn build(packages: &[&str]) -> Result<()> {
    let chosen = packages.iter().flat_map(|package| ["--package", package]);
    cargo(["build", "--bins"].into_iter().chain(chosen))
}

/// Builds all programs together with all tests: built apart, the tests' own dependencies would switch on features below the AWS clients, and
/// all of those would be compiled once more.
pub(crate) fn build_with_tests() -> Result<()> {
    cargo(["build", "--workspace", "--bins", "--tests"])
}

/// Runs a command to its end.
pub(crate) fn run(command: &mut Command) -> Result<()> {
    let status = command
        .status()
        .with_context(|| format!("cannot run {}", name(command)))?;
    if status.success() {
        return Ok(());
    }
    bail!("{} failed ({status})", name(command))
}

/// The same command under the guard: it, and all it started, ends when the pipe on its stdin closes, so also when this process is killed.
pub(crate) fn guarded(command: &Command) -> Command {
    let mut guarded = Command::new("python3");
    guarded
        .arg(root().join("infra/local/guard.py"))
        .arg(command.get_program())
        .args(command.get_args());
    guarded.current_dir(root()).stdin(Stdio::piped());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => guarded.env(name, value),
            None => guarded.env_remove(name),
        };
    }
    guarded
}

/// True if the program is there and answers to `args`.
pub(crate) fn answers(program: impl AsRef<OsStr>, args: &[&str]) -> bool {
    let quiet = Command::new(program)
        .args(args)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    quiet.is_ok_and(|status| status.success())
}

/// The folder that cargo builds into: where this program lies itself.
pub(crate) fn built_dir() -> Result<PathBuf> {
    let own = env::current_exe().context("cannot find this program's own file")?;
    own.parent()
        .map(PathBuf::from)
        .context("this program's own file lies nowhere")
}

fn name(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    let program = program.rsplit('/').next().unwrap_or_default().to_owned();
    let args = command
        .get_args()
        .map(|arg| arg.to_string_lossy().into_owned());
    std::iter::once(program)
        .chain(args)
        .collect::<Vec<_>>()
        .join(" ")
}
