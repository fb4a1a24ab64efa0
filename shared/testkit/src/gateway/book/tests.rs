use super::*;

fn payment(token: &str) -> PaymentBody {
    PaymentBody {
        order_id: "o-1".to_owned(),
        amount_minor: 1_250,
        currency: "EUR".to_owned(),
        payment_token: Some(token.to_owned()),
    }
}

fn all_back() -> RefundBody {
    RefundBody {
        amount_minor: 1_250,
        currency: "EUR".to_owned(),
    }
}

const T0: Duration = Duration::ZERO;

#[test]
fn the_same_key_gives_the_same_answer_and_charges_once() {
    let mut book = Book::default();
    let first = book.pay("k", &payment("approve"), T0);
    assert_eq!(first.status, 201);
    assert_eq!(book.pay("k", &payment("approve"), T0), first);
    assert_eq!(
        book.pay(
            "k",
            &PaymentBody {
                amount_minor: 1,
                ..payment("approve")
            },
            T0
        )
        .status,
        409
    );
    assert_eq!(book.ledger(T0)["o-1"].charged_minor, 1_250);
}

#[test]
fn a_time_out_that_charged_is_found_by_its_key_and_one_that_did_not_is_not() {
    let mut book = Book::default();
    assert!(book.pay("k", &payment("timeout-charged"), T0).late);
    assert_eq!(book.find("k", T0).body["status"], "approved");
    let mut book = Book::default();
    assert!(book.pay("k", &payment("timeout-not-charged"), T0).late);
    assert_eq!(book.find("k", T0).status, 404);
    assert_eq!(
        book.pay("k", &payment("timeout-not-charged"), T0).status,
        201
    );
}

#[test]
fn a_pending_payment_is_settled_by_time_or_voided_by_a_refund() {
    let mut book = Book::default();
    let taken = book.pay("k", &payment("pending-then-approve:2s"), T0);
    assert_eq!(
        (taken.status, &taken.body["status"]),
        (201, &json!("pending"))
    );
    assert_eq!(
        book.find("k", Duration::from_secs(2)).body["status"],
        "approved"
    );
    let mut book = Book::default();
    let taken = book.pay("k", &payment("pending"), T0);
    let id = taken.body["payment_id"].as_str().unwrap();
    assert_eq!(book.refund(id, "r", &all_back(), T0).status, 201);
    assert_eq!(book.settle(id, true, T0).status, 409);
    assert_eq!(book.ledger(T0)["o-1"].charged_minor, 0);
}

#[test]
fn a_refund_is_given_once_however_often_it_is_asked_for() {
    let mut book = Book::default();
    let paid = book.pay("k", &payment("refund-refuse:1+refund-fail:1"), T0);
    let id = paid.body["payment_id"].as_str().unwrap();
    assert_eq!(book.refund(id, "r", &all_back(), T0).status, 503);
    assert_eq!(book.refund(id, "r", &all_back(), T0).status, 422);
    assert_eq!(book.refund(id, "r", &all_back(), T0).status, 201);
    assert_eq!(book.refund(id, "r", &all_back(), T0).status, 201);
    assert_eq!(book.refund(id, "r2", &all_back(), T0).status, 422);
    assert_eq!(book.ledger(T0)["o-1"].refunded_minor, 1_250);
    assert_eq!(book.refund("pay-none", "r3", &all_back(), T0).status, 404);
}
