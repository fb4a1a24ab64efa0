//! What an answer of the gateway means: pure functions over status and body.
//!
//! The contract, in words: 201 is done; 402 is declined; any other 4xx is a definite refusal, except those that speak of the moment and not of
//! the request (408 time-out, 409 key in use, 425 too early, 429 too many); everything else, and anything that cannot be read, is unknown.
//! An enquiry is answered by 200 with the payment, or by 404 with a JSON body: a 404 without one comes from something in between.

use sagaline_order::{PaymentId, RefundId};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::{Charge, Enquiry, FoundPayment, PaymentStatus, Refund};

/// The longest id that is taken from the gateway: it becomes part of a key, and a key holds 2,048 bytes.
const MAX_ID_BYTES: usize = 200;

#[derive(Deserialize)]
struct PaymentBody {
    payment_id: String,
    status: PaymentStatus,
    #[serde(default)]
    refunded_minor: i64,
    #[serde(default)]
    refund_id: Option<String>,
}

#[derive(Deserialize)]
struct RefundBody {
    refund_id: String,
}

#[derive(Deserialize)]
struct ErrorBody {
    #[serde(alias = "error", alias = "message")]
    reason: String,
}

/// The answer to `POST /payments`.
#[must_use]
pub fn charge(status: u16, body: &[u8]) -> Charge {
    match status {
        200 | 201 => match payment(body) {
            Some(found) => match found.status {
                PaymentStatus::Approved => Charge::Approved(found.payment_id),
                PaymentStatus::Pending => Charge::Pending(found.payment_id),
                PaymentStatus::Declined | PaymentStatus::Voided => {
                    Charge::Declined(reason(status, body))
                }
            },
            None => Charge::Unknown(unreadable(status)),
        },
        _ if is_refusal(status) => Charge::Declined(reason(status, body)),
        _ => Charge::Unknown(reason(status, body)),
    }
}

/// The answer to `POST /payments/<payment_id>/refunds`.
#[must_use]
pub fn refund(status: u16, body: &[u8]) -> Refund {
    match status {
        200 | 201 => match parse::<RefundBody>(body).and_then(|body| id(body.refund_id)) {
            Some(refund_id) => Refund::Succeeded(RefundId::stored(refund_id)),
            None => Refund::Unknown(unreadable(status)),
        },
        _ if is_refusal(status) => Refund::Refused(reason(status, body)),
        _ => Refund::Unknown(reason(status, body)),
    }
}

/// The answer to `GET /payments/by-key/<op_id>`.
#[must_use]
pub fn enquiry(status: u16, body: &[u8]) -> Enquiry {
    match status {
        200 => payment(body).map_or_else(|| Enquiry::Unknown(unreadable(status)), Enquiry::Found),
        404 if parse::<serde_json::Map<String, serde_json::Value>>(body).is_some() => {
            Enquiry::NotFound
        }
        _ => Enquiry::Unknown(reason(status, body)),
    }
}

/// True for the answers that say something about the request rather than about the moment.
fn is_refusal(status: u16) -> bool {
    (400..500).contains(&status) && !matches!(status, 408 | 409 | 425 | 429)
}

fn payment(body: &[u8]) -> Option<FoundPayment> {
    let body: PaymentBody = parse(body)?;
    Some(FoundPayment {
        payment_id: PaymentId::stored(id(body.payment_id)?),
        status: body.status,
        refunded_minor: body.refunded_minor,
        refund_id: body.refund_id.and_then(id).map(RefundId::stored),
    })
}

fn parse<T: DeserializeOwned>(body: &[u8]) -> Option<T> {
    serde_json::from_slice(body).ok()
}

fn id(text: String) -> Option<String> {
    (1..=MAX_ID_BYTES).contains(&text.len()).then_some(text)
}

/// The status, and the gateway's own words if it has any, cut to what a head may carry.
fn reason(status: u16, body: &[u8]) -> String {
    match parse::<ErrorBody>(body) {
        Some(error) => format!(
            "{status} {}",
            error.reason.chars().take(200).collect::<String>()
        ),
        None => format!("answered {status}"),
    }
}

fn unreadable(status: u16) -> String {
    format!("answered {status} with a body that cannot be read")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_charge(status: u16, body: &str, expected: &str) {
        let got = match charge(status, body.as_bytes()) {
            Charge::Approved(id) => format!("approved {id}"),
            Charge::Pending(id) => format!("pending {id}"),
            Charge::Declined(_) => "declined".to_owned(),
            Charge::Unknown(_) => "unknown".to_owned(),
        };
        assert_eq!(got, expected, "{status} {body}");
    }

    #[test]
    fn only_a_definite_answer_to_a_charge_is_definite() {
        for (status, body, expected) in [
            (
                201,
                r#"{"payment_id":"p-1","status":"approved"}"#,
                "approved p-1",
            ),
            (
                200,
                r#"{"payment_id":"p-1","status":"approved","more":1}"#,
                "approved p-1",
            ),
            (
                201,
                r#"{"payment_id":"p-1","status":"pending"}"#,
                "pending p-1",
            ),
            (201, r#"{"payment_id":"p-1","status":"maybe"}"#, "unknown"),
            (201, r#"{"payment_id":"","status":"approved"}"#, "unknown"),
            (201, r#"{"status":"approved"}"#, "unknown"),
            (201, r#"{"payment_id":"p-1","sta"#, "unknown"),
            (201, "", "unknown"),
            (
                402,
                r#"{"payment_id":"p-1","status":"declined"}"#,
                "declined",
            ),
            (402, "", "declined"),
            (400, "", "declined"),
            (401, "", "declined"),
            (404, "<html>", "declined"),
            (422, "", "declined"),
            (408, "", "unknown"),
            (409, r#"{"error":"the key is in use"}"#, "unknown"),
            (425, "", "unknown"),
            (429, "", "unknown"),
            (500, "", "unknown"),
            (503, "", "unknown"),
            (204, "", "unknown"),
            (302, "", "unknown"),
            (100, "", "unknown"),
        ] {
            check_charge(status, body, expected);
        }
    }

    #[track_caller]
    fn check_refund(status: u16, body: &str, expected: &str) {
        let got = match refund(status, body.as_bytes()) {
            Refund::Succeeded(id) => format!("succeeded {id}"),
            Refund::Refused(_) => "refused".to_owned(),
            Refund::Unknown(_) => "unknown".to_owned(),
        };
        assert_eq!(got, expected, "{status} {body}");
    }

    #[test]
    fn a_refund_of_an_unknown_payment_is_refused() {
        for (status, body, expected) in [
            (201, r#"{"refund_id":"r-1"}"#, "succeeded r-1"),
            (201, "{}", "unknown"),
            (404, "", "refused"),
            (422, r#"{"error":"not that much"}"#, "refused"),
            (409, "", "unknown"),
            (429, "", "unknown"),
            (502, "", "unknown"),
        ] {
            check_refund(status, body, expected);
        }
    }

    #[track_caller]
    fn check_enquiry(status: u16, body: &str, expected: &str) {
        let got = match enquiry(status, body.as_bytes()) {
            Enquiry::Found(found) => format!(
                "{:?} {} {}",
                found.status, found.payment_id, found.refunded_minor
            ),
            Enquiry::NotFound => "none".to_owned(),
            Enquiry::Unknown(_) => "unknown".to_owned(),
        };
        assert_eq!(got, expected, "{status} {body}");
    }

    #[test]
    fn only_a_404_with_a_json_body_says_that_there_is_no_payment() {
        for (status, body, expected) in [
            (
                200,
                r#"{"payment_id":"p","status":"voided","refunded_minor":0}"#,
                "Voided p 0",
            ),
            (
                200,
                r#"{"payment_id":"p","status":"approved","refunded_minor":1250}"#,
                "Approved p 1250",
            ),
            (
                200,
                r#"{"payment_id":"p","status":"approved"}"#,
                "Approved p 0",
            ),
            (200, "OK", "unknown"),
            (404, r#"{"error":"no payment"}"#, "none"),
            (404, "{}", "none"),
            (404, "<html>not found</html>", "unknown"),
            (404, "", "unknown"),
            (404, "null", "unknown"),
            (410, "{}", "unknown"),
            (500, "{}", "unknown"),
        ] {
            check_enquiry(status, body, expected);
        }
    }
}
