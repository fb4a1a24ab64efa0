//! `cargo xtask package`: each function built for release as `dist/<function>/bootstrap`, and what it needs of the C library checked.

use std::env::consts::ARCH;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use sagaline_local::root;

use crate::glibc::{self, Need};
use crate::{PackageArgs, tool};

pub(crate) fn run(args: &PackageArgs) -> Result<()> {
    let target = Target::of(args.target.as_deref())?;
    let packages = tool::FUNCTIONS
        .iter()
        .flat_map(|function| ["--package", function.package]);
    let mut build = tool::cargo_command(
        ["build", "--release", "--bins", "--target", &target.triple]
            .into_iter()
            .chain(packages),
    );
    target.choose_linker(&mut build)?;
    tool::run(&mut build)?;
    let built = tool::built_dir()?
        .with_file_name(&target.triple)
        .join("release");
    for function in tool::FUNCTIONS {
        let (name, program) = (function.name, built.join(function.program));
        let bytes =
            fs::read(&program).with_context(|| format!("cannot read {}", program.display()))?;
        check(name, &bytes)?;
        let folder = root().join("dist").join(name);
        fs::create_dir_all(&folder)
            .with_context(|| format!("cannot create {}", folder.display()))?;
        let bootstrap = folder.join("bootstrap");
        fs::copy(&program, &bootstrap)
            .with_context(|| format!("cannot write {}", bootstrap.display()))?;
        println!("dist/{name}/bootstrap: {} MB", bytes.len() / 1_000_000);
    }
    println!("deploy with Architecture={}", target.architecture);
    Ok(())
}

/// Refuses a bootstrap that would not start on `provided.al2023`.
fn check(name: &str, program: &[u8]) -> Result<()> {
    let needs =
        glibc::needs(program).with_context(|| format!("cannot read the symbols of {name}"))?;
    let too_new: Vec<&Need> = needs
        .iter()
        .filter(|need| need.version > glibc::LAMBDA)
        .collect();
    if too_new.is_empty() {
        return Ok(());
    }
    let list = too_new
        .iter()
        .map(|need| need.to_string())
        .collect::<Vec<_>>()
        .join(", ");
    bail!(
        "{name} needs {list}, and the runtime provided.al2023 has glibc {}: it would not start. Build on a system with glibc {} or older, or for a musl target",
        glibc::LAMBDA,
        glibc::LAMBDA
    )
}

/// What is built for.
struct Target {
    triple: String,
    architecture: &'static str,
}

impl Target {
    fn of(wanted: Option<&str>) -> Result<Self> {
        let host = format!("{ARCH}-unknown-linux-gnu");
        let triple = match wanted {
            None => host.clone(),
            Some("arm64") => "aarch64-unknown-linux-gnu".to_owned(),
            Some("x86_64") => "x86_64-unknown-linux-gnu".to_owned(),
            Some(triple) => triple.to_owned(),
        };
        let architecture = match triple.split('-').next() {
            Some("aarch64") => "arm64",
            Some("x86_64") => "x86_64",
            _ => bail!("Lambda runs arm64 and x86_64, not {triple}"),
        };
        let libraries = Command::new("rustc")
            .args(["--print", "target-libdir", "--target", &triple])
            .output()
            .context("cannot run rustc")?;
        let libraries = String::from_utf8_lossy(&libraries.stdout).trim().to_owned();
        if libraries.is_empty() || !Path::new(&libraries).is_dir() {
            bail!("the Rust target {triple} is not installed: `rustup target add {triple}`");
        }
        Ok(Self {
            triple,
            architecture,
        })
    }

    /// Another architecture's code needs another linker: its name is Debian's.
    fn choose_linker(&self, build: &mut Command) -> Result<()> {
        let variable = format!(
            "CARGO_TARGET_{}_LINKER",
            self.triple.to_uppercase().replace('-', "_")
        );
        let Some(architecture) = self
            .triple
            .split('-')
            .next()
            .filter(|architecture| *architecture != ARCH)
        else {
            return Ok(());
        };
        if std::env::var_os(&variable).is_some() {
            return Ok(());
        }
        let linker = format!("{architecture}-linux-gnu-gcc");
        if !tool::answers(&linker, &["--version"]) {
            bail!(
                "a linker for {} is needed: install gcc-{}-linux-gnu, or name one in {variable}",
                self.triple,
                architecture.replace('_', "-")
            );
        }
        build.env(variable, linker);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::glibc::tests::program;

    // C-57
    #[test]
    fn bootstrap_that_needs_a_newer_c_library_is_refused_and_the_symbol_named() {
        let refused = check(
            "saga",
            &program(&[("memcpy", "GLIBC_2.14"), ("__isoc23_strtol", "GLIBC_2.38")]),
        )
        .unwrap_err();
        assert!(
            refused
                .to_string()
                .starts_with("saga needs __isoc23_strtol@GLIBC_2.38, and the runtime"),
            "{refused}"
        );
        check(
            "saga",
            &program(&[
                ("memcpy", "GLIBC_2.14"),
                ("__libc_start_main", "GLIBC_2.34"),
            ]),
        )
        .unwrap();
        check("saga", &program(&[])).unwrap();
        check("saga", b"#!/bin/sh\n").unwrap_err();
    }
}
