//! Missing rows written again, from what was put aside and from nothing else.
//!
//! A row of the archive is made of a record, which says what was before and after; the table only knows what is now. So what no one put aside
//! stays missing, and is named. Nothing is removed from where it lies: whoever put it there may still need it.

use super::verify::Findings;
use crate::aside::budget::budget;
use crate::aside::piece::{Content, Piece, Who, of_document, of_parked};
use crate::aside::store::{DOCUMENTS, PARKED, objects};
use crate::commands::phone;
use crate::error::CommandError;
use crate::session::{Session, vars};
use sagaline_archive::{ArchiveMessage, AwsTarget, Redaction, Row};
use sagaline_lambda::config::{ArchiveVars, park_bucket};
use sagaline_lambda::{ParkBucket, one_line};
use sagaline_sinks::{Archive, Ours, Written, ours};
use sagaline_stream::{Failure, Record};

/// Rows that were too large for a retry queue.
const SPILLED: &str = "spill/archive/";
/// Rows of one write.
const ROWS: usize = 100;

/// Writes what is missing and was put aside. What the archive took is marked in the findings.
pub(super) async fn run(findings: &mut Findings, session: &Session) -> Result<(), CommandError> {
    let vars = vars();
    let bucket = park_bucket(&vars)?;
    let archive = ArchiveVars::read(&vars)?;
    let keys = phone::keys(&vars, &session.aws).await?;
    let redaction = Redaction::new(&archive.redact, keys);
    let bucket = ParkBucket::new(session.aws.s3(), bucket);
    let archive = sagaline_sinks::archive(&archive, bucket.clone(), &session.aws);
    let mut missing = findings.missing();
    let mut rows = Vec::new();
    for prefix in [PARKED, SPILLED, DOCUMENTS] {
        for object in objects(&bucket, prefix, None).await? {
            if missing.is_empty() {
                break;
            }
            let Some(bytes) = bucket.get(&object.key).await? else {
                continue;
            };
            let (made, unusable) = rows_of(prefix, &bytes, &archive, &redaction).await;
            for why in unusable {
                findings.note(format!("{}: {why}", object.key));
            }
            for row in made {
                // Each once, wherever else it lies too.
                if missing.remove(&(row.order_id.clone(), row.version)) {
                    rows.push(row);
                }
            }
            if rows.len() >= ROWS {
                write(std::mem::take(&mut rows), &archive, findings).await;
            }
        }
    }
    write(rows, &archive, findings).await;
    Ok(())
}

async fn write(rows: Vec<Row>, archive: &Archive<AwsTarget>, findings: &mut Findings) {
    if rows.is_empty() {
        return;
    }
    let ids: Vec<(String, i64)> = rows
        .iter()
        .map(|row| (row.order_id.clone(), row.version))
        .collect();
    for ((order_id, version), written) in ids.iter().zip(archive.write(rows, &budget()).await) {
        match written {
            Written::Done | Written::Stale => findings.repaired(order_id, *version),
            Written::Refused(why) | Written::NotNow(why) => {
                findings.note(format!("order {order_id} v{version} was not taken: {why}"));
            }
            Written::Behind(_) => {}
        }
    }
}

/// The rows that can be made of an object, and why others cannot.
async fn rows_of(
    prefix: &str,
    bytes: &[u8],
    archive: &Archive<AwsTarget>,
    redaction: &Redaction,
) -> (Vec<Row>, Vec<String>) {
    let (mut rows, mut unusable) = (Vec::new(), Vec::new());
    let pieces = match prefix {
        SPILLED => {
            match ArchiveMessage::parse_line(&String::from_utf8_lossy(bytes)) {
                Ok(row) => rows.push(row),
                Err(error) => unusable.push(one_line(&error)),
            }
            return (rows, unusable);
        }
        PARKED => of_parked(bytes),
        // A record is a record, whichever of the two functions it was for.
        _ => of_document(bytes, Some(Who::Archive)),
    };
    match pieces {
        Ok(pieces) => {
            for piece in pieces {
                match row_of(&piece, archive, redaction).await {
                    Ok(row) => rows.extend(row),
                    Err(failure) => unusable.push(failure.chain()),
                }
            }
        }
        Err(why) => unusable.push(why.to_string()),
    }
    (rows, unusable)
}

/// The row of a piece; none for what is not the archive's business.
async fn row_of(
    piece: &Piece,
    archive: &Archive<AwsTarget>,
    redaction: &Redaction,
) -> Result<Option<Row>, Failure> {
    match (&piece.content, piece.who) {
        (Content::Record(raw), _) => of_record(raw, redaction),
        (Content::Message(body), Who::Archive) => archive.resolve(body).await.map(Some),
        (Content::Message(_), Who::Saga | Who::Projector | Who::Search) => Ok(None),
    }
}

fn of_record(raw: &str, redaction: &Redaction) -> Result<Option<Row>, Failure> {
    let record =
        Record::decode(raw).map_err(|broken| Failure::poison(broken.error().to_string()))?;
    if ours(&record)? != Ours::Yes {
        return Ok(None);
    }
    Row::from_record(&record, redaction).map(Some)
}
