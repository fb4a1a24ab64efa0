//! `sagaline create`: places one order.

use crate::args::Global;
use crate::error::{Code, CommandError};
use crate::session::Session;
use crate::{mint, output};
use clap::{Args, ValueEnum};
use sagaline_order::{BadInput, Context, LineInput, OrderInput, RequestId};
use sagaline_store::{Placed, Placement};
use serde_json::json;
use std::collections::BTreeMap;

/// Places an order.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  sagaline create --order-id o-1 --user u-1 --currency EUR --line mug:2:1250:'Blue mug' --line pen:1:300
  sagaline create --order-id o-1 --user u-1 --currency EUR --line mug:2:1250 --request-id r-1   (again: already_applied)
  sagaline create --order-id o-2 --user u-1 --currency JPY --line mug:1:1800 --reserve now --json")]
pub(crate) struct Create {
    /// The order's id; without it one is derived from user and request.
    #[arg(long, value_name = "ID")]
    order_id: Option<String>,
    /// Whose order it is.
    #[arg(long, value_name = "ID")]
    user: String,
    /// One line: product, quantity, price of one in minor units, name. A product id may hold `:`; the first two numbers after it count.
    #[arg(
        long = "line",
        value_name = "SKU:QTY:UNIT_MINOR[:NAME]",
        required = true
    )]
    lines: Vec<String>,
    /// ISO 4217, as EUR.
    #[arg(long, value_name = "CODE")]
    currency: String,
    /// Opaque, for the payment gateway.
    #[arg(long, value_name = "TOKEN")]
    payment_token: Option<String>,
    /// Makes the placement happen once, however often it is sent; without it one is made and printed.
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
    /// `now` takes the stock with the placement, or stores nothing.
    #[arg(long, value_name = "WHEN")]
    reserve: Option<Reserve>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Reserve {
    /// With the placement.
    Now,
}

impl Create {
    pub(crate) async fn run(self, global: &Global) -> Result<(), CommandError> {
        let input = self.input()?;
        let minted = RequestId::parse(&mint::id())
            .map_err(|bad| BadInput::new("request_id", bad.to_string()))?;
        let actor = mint::actor();
        // Every rule first, before anything is asked of anyone.
        input.check(&minted, &actor, &mint::offline_context())?;

        let session = Session::open(global).await?;
        let now = sagaline_lambda::now();
        let context = Context {
            now,
            config: session.store.saga_config(now).await,
        };
        let new = input.check(&minted, &actor, &context)?;
        let (order_id, request_id) = (new.order.order_id.clone(), new.request_id.clone());
        let placement = Placement {
            reserve_now: self.reserve.is_some(),
            phone_lookup: None,
        };
        let placed = session.store.place(new, placement).await;
        let placed =
            placed.map_err(|error| CommandError::of_commit(&order_id, &request_id, &error))?;
        let (result, order) = match placed {
            Placed::Created { order } => ("created", order),
            Placed::AlreadyApplied { head } => ("already_applied", head),
        };
        if global.json {
            output::json(
                &json!({"result": result, "request_id": request_id, "order": output::order(&order)}),
            );
        } else {
            let what = if result == "created" {
                "created"
            } else {
                "was created before"
            };
            let total = output::amount(order.total_minor.get(), order.currency.code());
            output::line(&format!(
                "order {order_id} {what}: {total}, {} (request {request_id})",
                order.status().as_str()
            ));
        }
        Ok(())
    }

    fn input(&self) -> Result<OrderInput, CommandError> {
        let lines = self
            .lines
            .iter()
            .enumerate()
            .map(|(place, text)| line(place, text))
            .collect::<Result<_, _>>()?;
        Ok(OrderInput {
            order_id: self.order_id.clone(),
            user_id: self.user.clone(),
            request_id: self.request_id.clone(),
            currency: self.currency.clone(),
            lines,
            payment_token: self.payment_token.clone(),
            shipping: None,
            phone: None,
            attributes: BTreeMap::new(),
        })
    }
}

/// `SKU:QTY:UNIT_MINOR[:NAME]`. Product ids may hold `:`, so the two numbers are looked for behind the first part.
fn line(place: usize, text: &str) -> Result<LineInput, CommandError> {
    let is_number = |part: &&str| {
        part.strip_prefix('-')
            .unwrap_or(part)
            .bytes()
            .all(|b| b.is_ascii_digit())
            && part.ends_with(|c: char| c.is_ascii_digit())
    };
    let parts: Vec<&str> = text.split(':').collect();
    let found = (1..parts.len()).find_map(|at| match parts.get(at..at + 2) {
        Some([qty, unit]) if is_number(qty) && is_number(unit) => Some((at, *qty, *unit)),
        Some(_) | None => None,
    });
    let Some((at, qty, unit)) = found else {
        let what = format!(
            "lines[{place}]: '{text}' is not SKU:QTY:UNIT_MINOR[:NAME] with two whole numbers"
        );
        return Err(CommandError::new(Code::BadInput, what));
    };
    let number = |field: &str, text: &str| {
        let bad = || {
            CommandError::from(BadInput::new(
                format!("lines[{place}].{field}"),
                format!("{text} is beyond 64 bits"),
            ))
        };
        text.parse::<i64>().map_err(|_| bad())
    };
    let name = parts.get(at + 2..).unwrap_or_default().join(":");
    Ok(LineInput {
        sku: parts.get(..at).unwrap_or_default().join(":"),
        name: Some(name).filter(|name| !name.is_empty()),
        qty: number("qty", qty)?,
        unit_minor: number("unit_minor", unit)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_its_product_and_name_hold() {
        #[track_caller]
        fn check(text: &str, expected: (&str, i64, i64, Option<&str>)) {
            let line = line(0, text).unwrap();
            assert_eq!(
                (
                    line.sku.as_str(),
                    line.qty,
                    line.unit_minor,
                    line.name.as_deref()
                ),
                expected
            );
        }
        check("mug:2:1250", ("mug", 2, 1250, None));
        check("mug:2:1250:Blue mug", ("mug", 2, 1250, Some("Blue mug")));
        check(
            "a:b:2:1250:12:30 clock",
            ("a:b", 2, 1250, Some("12:30 clock")),
        );
        check("mug:0:-5", ("mug", 0, -5, None));
        check(":1:2", ("", 1, 2, None));
    }

    #[test]
    fn what_is_no_line_is_refused_by_its_place() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            let error = line(3, text).unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
        check("mug", "lines[3]: 'mug' is not SKU:QTY:UNIT_MINOR");
        check("mug:two:5", "lines[3]:");
        check("mug:1:1.50", "lines[3]:");
        check(
            "mug:99999999999999999999:5",
            "lines[3].qty: 99999999999999999999 is beyond 64 bits",
        );
    }
}
