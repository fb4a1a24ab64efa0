//! The rule of each kind of variable: text in, checked value or the broken rule out.

use super::SearchAuth;
use url::Url;

/// An absolute http or https URL with a host.
pub(super) fn url(text: &str) -> Result<Url, String> {
    let url = Url::parse(text).map_err(|error| format!("is no URL: {error}"))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err("is no http or https URL".to_owned());
    }
    Ok(url)
}

/// A table name or ARN (Amazon DynamoDB Developer Guide, naming rules: 3 to 255 of `a-z A-Z 0-9 _ . -`).
pub(super) fn table(text: &str) -> Result<String, String> {
    name(
        text,
        3,
        255,
        "_.-",
        "a table name: 3 to 255 of A-Z a-z 0-9 _ . -",
    )
}

/// A bucket name (Amazon S3 User Guide, bucket naming rules: 3 to 63 of lower-case letters, digits, `.` and `-`).
pub(super) fn bucket(text: &str) -> Result<String, String> {
    let rule = "a bucket name: 3 to 63 of a-z 0-9 . -";
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        return Err(format!("is not {rule}"));
    }
    name(text, 3, 63, ".-", rule)
}

/// A bus name or ARN (Amazon EventBridge API Reference, PutEventsRequestEntry: 1 to 1,600 of `/ . - _ A-Z a-z 0-9`, or an ARN).
pub(super) fn bus(text: &str) -> Result<String, String> {
    name(text, 1, 1_600, "/._-", "a bus name: of A-Z a-z 0-9 / . _ -")
}

/// A delivery stream's name (Amazon Data Firehose API Reference: 1 to 64 of `a-z A-Z 0-9 _ . -`).
pub(super) fn delivery_stream(text: &str) -> Result<String, String> {
    name(
        text,
        1,
        64,
        "_.-",
        "a Firehose stream name: 1 to 64 of A-Z a-z 0-9 _ . -",
    )
}

/// A domain's name (Amazon OpenSearch Service API Reference: 3 to 28, a lower-case letter, then lower-case letters, digits and `-`).
pub(super) fn domain(text: &str) -> Result<String, String> {
    let rule = "an OpenSearch domain name: 3 to 28, a-z, then a-z 0-9 -";
    if text.bytes().any(|byte| byte.is_ascii_uppercase())
        || !text.starts_with(|first: char| first.is_ascii_lowercase())
    {
        return Err(format!("is not {rule}"));
    }
    name(text, 3, 28, "-", rule)
}

/// An index alias, with room for `-write-next` below 255 bytes (OpenSearch documentation, index naming restrictions).
pub(super) fn alias(text: &str) -> Result<String, String> {
    let rule = "an alias: 1 to 200 of a-z 0-9 _ . -, the first a letter or a digit";
    if text.bytes().any(|byte| byte.is_ascii_uppercase())
        || !text.starts_with(|first: char| first.is_ascii_alphanumeric())
    {
        return Err(format!("is not {rule}"));
    }
    name(text, 1, 200, "_.-", rule)
}

/// `sigv4` or `none`.
pub(super) fn auth(text: &str) -> Result<SearchAuth, String> {
    match text {
        "sigv4" => Ok(SearchAuth::SigV4),
        "none" => Ok(SearchAuth::Unsigned),
        _ => Err("is neither sigv4 nor none".to_owned()),
    }
}

/// Attribute names, separated by commas, or nothing.
pub(super) fn words(text: &str) -> Result<String, String> {
    let has_gap = text.split(',').any(|word| word.trim().is_empty());
    if has_gap && !text.trim().is_empty() {
        Err("has an empty name between its commas".to_owned())
    } else {
        Ok(text.to_owned())
    }
}

fn name(text: &str, least: usize, most: usize, signs: &str, rule: &str) -> Result<String, String> {
    let is_arn = text.starts_with("arn:")
        && text.split(':').count() >= 6
        && !text.contains(char::is_whitespace);
    let fits = (least..=most).contains(&text.len())
        && text
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || signs.contains(c));
    if is_arn || fits {
        Ok(text.to_owned())
    } else {
        Err(format!("is not {rule}"))
    }
}
