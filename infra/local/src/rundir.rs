//! The folder of one run: `.local/run/<process>-<n>/`, with the servers' logs and whatever they write.
//!
//! It goes with the run. One whose process was killed is removed by the next run: a live run holds a lock on a file inside, and the system frees that
//! lock when the process ends, however it ends.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

static NEXT: AtomicU32 = AtomicU32::new(0);

/// A locked folder of this process.
#[derive(Debug)]
pub(crate) struct RunDir {
    path: PathBuf,
    _lock: File,
}

impl RunDir {
    /// Makes a fresh folder below `.local/run` and removes what killed runs left there.
    pub(crate) fn create(local: &Path) -> Result<Self> {
        let all = local.join("run");
        fs::create_dir_all(&all).with_context(|| format!("cannot create {}", all.display()))?;
        remove_abandoned(&all);
        let path = all.join(format!(
            "{}-{}",
            std::process::id(),
            NEXT.fetch_add(1, Ordering::Relaxed)
        ));
        // A folder with this process's number can only be an old one: process numbers come round.
        if path.exists() {
            fs::remove_dir_all(&path)
                .with_context(|| format!("cannot remove {}", path.display()))?;
        }
        fs::create_dir(&path).with_context(|| format!("cannot create {}", path.display()))?;
        // Locked before it has its name, so that no other run ever finds it unlocked.
        let lock =
            File::create(path.join("lock.new")).context("cannot create the lock of a run")?;
        lock.try_lock().context("cannot lock the folder of a run")?;
        fs::rename(path.join("lock.new"), path.join("lock"))
            .context("cannot name the lock of a run")?;
        Ok(Self { path, _lock: lock })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for RunDir {
    fn drop(&mut self) {
        // What cannot be removed now (a server still closing a file) is removed by the next run.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes the folders that no process holds. A folder without its lock file is one that is being made, and is left alone.
fn remove_abandoned(all: &Path) {
    for entry in fs::read_dir(all).into_iter().flatten().flatten() {
        if let Ok(lock) = File::open(entry.path().join("lock"))
            && lock.try_lock().is_ok()
        {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn abandoned_folder_is_removed_and_a_live_one_is_kept() {
        let local = std::env::temp_dir().join(format!("sagaline-rundir-{}", std::process::id()));
        let live = RunDir::create(&local).unwrap();
        let abandoned = local.join("run/abandoned");
        fs::create_dir(&abandoned).unwrap();
        fs::write(abandoned.join("lock"), "").unwrap();

        let second = RunDir::create(&local).unwrap();

        assert!(!abandoned.exists());
        assert!(live.path().exists());
        let gone = second.path().to_path_buf();
        drop(second);
        assert!(!gone.exists());
        drop(live);
        fs::remove_dir_all(local).unwrap();
    }
}
