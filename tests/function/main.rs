//! The small function of the mapping tests: a real bootstrap over the batch engine, whose effects and orders are files.
//!
//! In the folder `FUNCTION_DIR`, for the record of the item with the id `k`:
//!
//! | file | means |
//! |---|---|
//! | `hold/k` | the call hangs at this record for as long as the process lives |
//! | `once/k` | the record is refused once; the file goes with it |
//! | `refuse/k` | the record is refused |
//! | `effects/k` | made by the record's effect, which therefore happens once |
//! | `log` | a line for each handling: `held k`, `refused k`, `done k`, `stale k` |

use std::fs::{self, File};
use std::io::{self, ErrorKind, Write as _};
use std::path::PathBuf;
use std::process::ExitCode;

use sagaline_lambda::{BoxError, Handler, start};
use sagaline_stream::{
    Batch, BatchResponse, Budget, Engine, Failure, Invocation, MemoryParking, Record,
    RecordHandler, Verdict,
};

struct Small {
    engine: Engine<MemoryParking>,
    folder: Folder,
}

struct Folder(PathBuf);

fn main() -> ExitCode {
    start("small", async |_| {
        let dir = PathBuf::from(std::env::var("FUNCTION_DIR")?);
        for folder in ["hold", "once", "refuse", "effects"] {
            fs::create_dir_all(dir.join(folder))?;
        }
        Ok(Small {
            engine: Engine::new("small", MemoryParking::default()),
            folder: Folder(dir),
        })
    })
}

impl Handler for Small {
    type Answer = BatchResponse;

    async fn handle(
        &self,
        payload: &[u8],
        invocation: &Invocation,
    ) -> Result<BatchResponse, BoxError> {
        let batch = Batch::parse(payload)?;
        let outcome = self.engine.run(&batch, &self.folder, invocation).await?;
        Ok(outcome.response)
    }
}

impl RecordHandler for Folder {
    async fn handle(&self, record: &Record<'_>, _: &Budget) -> Result<Verdict, Failure> {
        let key = record
            .keys()
            .and_then(|keys| keys.s("id"))
            .ok_or_else(|| Failure::poison("an item without an id"))?;
        let failed = |error: io::Error| Failure::retry("the folder does not work").because(error);
        if self.0.join("hold").join(key).exists() {
            self.note("held", key).map_err(failed)?;
            std::future::pending::<()>().await;
        }
        let once = fs::remove_file(self.0.join("once").join(key)).is_ok();
        if once || self.0.join("refuse").join(key).exists() {
            self.note("refused", key).map_err(failed)?;
            return Err(Failure::retry("refused, as told"));
        }
        match File::create_new(self.0.join("effects").join(key)) {
            Ok(_) => {
                self.note("done", key).map_err(failed)?;
                Ok(Verdict::Done)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                self.note("stale", key).map_err(failed)?;
                Ok(Verdict::Stale)
            }
            Err(error) => Err(failed(error)),
        }
    }
}

impl Folder {
    /// One write a line, so that lines of several processes never mix.
    fn note(&self, what: &str, key: &str) -> io::Result<()> {
        let mut log = File::options()
            .create(true)
            .append(true)
            .open(self.0.join("log"))?;
        log.write_all(format!("{what} {key}\n").as_bytes())
    }
}
