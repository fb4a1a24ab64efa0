//! Phones are found by a keyed hash of their number, never by the number.

use crate::error::{Code, CommandError};
use crate::session::{Session, vars};
use sagaline_archive::HashKeys;
use sagaline_lambda::config::{Vars, hash_keys_secret};
use sagaline_lambda::{Aws, one_line};

/// The keys, if `HASH_KEYS_SECRET` names them. Without keys an order keeps its masked phone and gets no look-up.
pub(crate) async fn keys(vars: &Vars, aws: &Aws) -> Result<Option<HashKeys>, CommandError> {
    let Some(id) = hash_keys_secret(vars)? else {
        return Ok(None);
    };
    let unusable = |what: String| {
        CommandError::new(Code::BadConfiguration, format!("HASH_KEYS_SECRET: {what}"))
            .advise("correct or unset it")
    };
    let secret = aws
        .secret(&id)
        .await
        .map_err(|error| unusable(one_line(&error)))?;
    HashKeys::parse(&secret)
        .map(Some)
        .map_err(|error| unusable(error.to_string()))
}

/// The hashes that a phone may have been written with.
pub(crate) async fn hashes(session: &Session, phone: &str) -> Result<Vec<String>, CommandError> {
    let keys = keys(&vars(), &session.aws).await?;
    let keys = keys.ok_or_else(|| {
        CommandError::new(
            Code::BadConfiguration,
            "HASH_KEYS_SECRET is not set, and phones are found by their keyed hash only",
        )
    })?;
    let hashes = keys.hash_with_all(phone.as_bytes());
    Ok(hashes.map(|(_, hash)| hash).collect())
}
