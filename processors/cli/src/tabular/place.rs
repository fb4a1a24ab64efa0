//! Where the bytes go: a file that appears when it is whole, or standard output. Every byte is counted and hashed on its way.

use super::Format;
use sha2::{Digest as _, Sha256};
use std::fs::Permissions;
use std::io::{self, BufWriter, IsTerminal as _, Stdout, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

enum Target {
    File { file: NamedTempFile, path: PathBuf },
    Out(Stdout),
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::File { file, .. } => file.write(bytes),
            Self::Out(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::File { file, .. } => file.flush(),
            Self::Out(out) => out.flush(),
        }
    }
}

/// A writer that knows what went through it.
pub(super) struct Place {
    target: BufWriter<Target>,
    hash: Sha256,
    bytes: u64,
}

impl Place {
    pub(super) fn open(format: Format, path: Option<&Path>) -> io::Result<Self> {
        let target = match path {
            Some(path) => Target::File {
                file: beside(path)?,
                path: path.to_owned(),
            },
            None if format == Format::Parquet && io::stdout().is_terminal() => {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "Parquet is not for terminals",
                ));
            }
            None => Target::Out(io::stdout()),
        };
        Ok(Self {
            target: BufWriter::with_capacity(64 * 1024, target),
            hash: Sha256::new(),
            bytes: 0,
        })
    }

    /// Makes it durable and gives it its name; answers how many bytes there are and their hash.
    pub(super) fn close(self) -> io::Result<(u64, String)> {
        let target = self
            .target
            .into_inner()
            .map_err(io::IntoInnerError::into_error)?;
        match target {
            Target::File { file, path } => {
                file.as_file().sync_all()?;
                file.persist(&path).map_err(|error| error.error)?;
            }
            Target::Out(mut out) => out.flush()?,
        }
        Ok((self.bytes, hex::encode(self.hash.finalize())))
    }
}

impl Write for Place {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let taken = self.target.write(bytes)?;
        self.hash.update(bytes.get(..taken).unwrap_or_default());
        self.bytes += u64::try_from(taken).unwrap_or(u64::MAX);
        Ok(taken)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.target.flush()
    }
}

/// A file of a passing name in the folder of `path`, so that a rename suffices to put it there. It is removed when it is dropped.
fn beside(path: &Path) -> io::Result<NamedTempFile> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty())
        .unwrap_or(Path::new("."));
    tempfile::Builder::new()
        .prefix(&format!(".{}.", name.display()))
        .suffix(".part")
        // As any new file: what the process's mask leaves.
        .permissions(Permissions::from_mode(0o666))
        .tempfile_in(folder)
}
