//! What is installed once, under `.local/`: a Python environment from `requirements.txt` and the OpenSearch libraries from `pom.xml`.
//!
//! Each has a stamp with the text of the file it was made from, written last. A folder without its stamp, or with another, is made anew: so a set-up
//! that was killed is repaired by the next one, and a changed pin is followed. A lock for each keeps two processes from working on one folder.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::progress::Progress;
use crate::{prerequisites, root, tool};

/// What the set-up left.
#[derive(Clone, Debug)]
pub struct Installed {
    /// `.local/`.
    pub(crate) local: PathBuf,
    /// The environment's Python, which has the pinned packages.
    pub python: PathBuf,
    /// The folder of OpenSearch's jars. Not there when a server was given.
    pub(crate) jars: PathBuf,
}

impl Installed {
    fn in_root() -> Self {
        let local = root().join(".local");
        Self {
            python: local.join("venv/bin/python"),
            jars: local.join("opensearch/lib"),
            local,
        }
    }
}

/// Checks the prerequisites and installs what is missing. `opensearch` is the URL of a server that already runs: then Java is not touched.
///
/// # Errors
/// A missing prerequisite, or an installer that fails, with the end of its log.
pub fn install(opensearch: Option<&str>, progress: &Progress) -> Result<Installed> {
    prerequisites::check(opensearch)?;
    let installed = Installed::in_root();
    std::thread::scope(|scope| {
        let jars = scope.spawn(|| {
            if opensearch.is_none() {
                jars(&installed, progress)
            } else {
                Ok(())
            }
        });
        let environment = environment(&installed, progress);
        // A panic in the thread has been printed; what is left to say is that the step failed.
        let jars = jars
            .join()
            .unwrap_or_else(|_| Err(anyhow::anyhow!("the OpenSearch set-up stopped")));
        environment.and(jars)
    })?;
    Ok(installed)
}

/// The Python that has the pinned packages, for the template's tools; installed if it is not there.
///
/// # Errors
/// As [`install`].
pub fn install_python(progress: &Progress) -> Result<PathBuf> {
    prerequisites::check_python()?;
    let installed = Installed::in_root();
    environment(&installed, progress)?;
    Ok(installed.python)
}

fn environment(installed: &Installed, progress: &Progress) -> Result<()> {
    let folder = installed.local.join("venv");
    let requirements = root().join("infra/local/requirements.txt");
    once(&folder, &requirements, progress, || {
        let step = progress.step("Python packages of the local AWS: installing (about 300 MB)");
        let log = installed.local.join("venv.log");
        tool::run(Path::new("python3"), &["-m", "venv", &text(&folder)], &log)?;
        let pip = [
            "-m",
            "pip",
            "install",
            "--disable-pip-version-check",
            "--no-input",
            "-r",
            &text(&requirements),
        ];
        tool::run(&installed.python, &pip, &log)?;
        step.done("installed");
        Ok(())
    })
}

fn jars(installed: &Installed, progress: &Progress) -> Result<()> {
    let folder = installed.local.join("opensearch");
    let pom = root().join("infra/local/pom.xml");
    once(&folder, &pom, progress, || {
        let step = progress.step("OpenSearch libraries: fetching (about 45 MB)");
        let to = format!("-DoutputDirectory={}", installed.jars.display());
        let maven = [
            "--batch-mode",
            "--no-transfer-progress",
            "--file",
            &text(&pom),
            "dependency:copy-dependencies",
            &to,
        ];
        tool::run(
            Path::new("mvn"),
            &maven,
            &installed.local.join("opensearch.log"),
        )?;
        step.done("fetched");
        Ok(())
    })
}

/// Waits until no other process works on what `path` guards.
fn lock(path: &Path, progress: &Progress) -> Result<File> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)
            .with_context(|| format!("cannot create {}", parent.display()))?;
    }
    let lock = File::create(path).with_context(|| format!("cannot create {}", path.display()))?;
    if lock.try_lock().is_err() {
        let step = progress.step("another set-up is running: waiting for it");
        lock.lock()
            .with_context(|| format!("cannot lock {}", path.display()))?;
        step.done("it has ended");
    }
    Ok(lock)
}

/// Makes `folder` from `source` unless its stamp says that it is made from just this text.
fn once(
    folder: &Path,
    source: &Path,
    progress: &Progress,
    make: impl FnOnce() -> Result<()>,
) -> Result<()> {
    let _lock = lock(&folder.with_extension("lock"), progress)?;
    let wanted =
        fs::read_to_string(source).with_context(|| format!("cannot read {}", source.display()))?;
    let stamp = folder.join("made-from");
    if fs::read_to_string(&stamp).is_ok_and(|made_from| made_from == wanted) {
        return Ok(());
    }
    if folder.exists() {
        fs::remove_dir_all(folder)
            .with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    make()?;
    // Under its name only when whole: a half-written stamp could equal nothing, but a full disk should say so here.
    let unfinished = folder.join("made-from.new");
    fs::write(&unfinished, wanted)
        .and_then(|()| fs::rename(&unfinished, &stamp))
        .with_context(|| format!("cannot write {}", stamp.display()))
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn set_up_is_reused_renewed_when_its_source_changes_and_repaired_when_it_was_cut_off() {
        let dir = std::env::temp_dir().join(format!("sagaline-once-{}", std::process::id()));
        let (folder, source) = (dir.join("made"), dir.join("source"));
        fs::create_dir_all(&dir).unwrap();
        let made = Cell::new(0);
        let make = || {
            once(&folder, &source, &Progress::quiet(), || {
                fs::create_dir(&folder)?;
                made.set(made.get() + 1);
                Ok(())
            })
        };

        fs::write(&source, "one").unwrap();
        make().unwrap();
        make().unwrap();
        assert_eq!(made.get(), 1, "the second set-up reuses the first");

        fs::write(&source, "two").unwrap();
        make().unwrap();
        assert_eq!(made.get(), 2, "a changed source renews it");

        fs::remove_file(folder.join("made-from")).unwrap();
        fs::write(folder.join("half"), "").unwrap();
        make().unwrap();
        assert_eq!(made.get(), 3, "a folder without its stamp was cut off");
        assert!(!folder.join("half").exists());
        fs::remove_dir_all(dir).unwrap();
    }
}
