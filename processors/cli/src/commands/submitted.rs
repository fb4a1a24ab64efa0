//! How the outcome of `cancel` and `report` is told.

use crate::commands::operate;
use crate::error::{Code, CommandError};
use crate::output;
use sagaline_order::Order;
use sagaline_saga::Submitted;
use serde_json::{Value, json};

/// Prints what became of it; `more` are names and values beside it, what makes it happen once among them. What changes nothing is no error.
pub(crate) fn tell(
    submitted: Submitted,
    more: &[(&str, &str)],
    json: bool,
) -> Result<(), CommandError> {
    let (result, order, reason) = match submitted {
        Submitted::Applied { order, reason } => ("applied", order, reason),
        Submitted::AlreadyApplied { order } => (
            "already_applied",
            order,
            "the same request was written before".to_owned(),
        ),
        Submitted::NoEffect { order, reason } => ("no_effect", order, reason),
        Submitted::Refused { order, reason } => return Err(refused(&order, &reason)),
        Submitted::Moved { order } => return Err(operate::moved(&order)),
    };
    if json {
        let mut answer =
            json!({"result": result, "reason": reason, "order": output::order(&order)});
        if let Some(members) = answer.as_object_mut() {
            let more = more
                .iter()
                .map(|(name, value)| ((*name).to_owned(), Value::from(*value)));
            members.extend(more);
        }
        output::json(&answer);
    } else {
        let what = match result {
            "applied" => "done",
            "already_applied" => "done before",
            _ => "nothing to do",
        };
        let Order {
            order_id, state, ..
        } = &order;
        let more: Vec<String> = more
            .iter()
            .map(|(name, value)| format!("{} {value}", name.replace('_', " ")))
            .collect();
        output::line(&format!(
            "order {order_id}: {what}: {reason}; now {state:?} ({})",
            more.join(", ")
        ));
    }
    Ok(())
}

fn refused(order: &Order, reason: &str) -> CommandError {
    let Order {
        order_id, state, ..
    } = order;
    CommandError::new(Code::NotAllowed, format!("refused: {reason}")).advise(format!(
        "order {order_id} is {state:?}, see `sagaline show {order_id}`"
    ))
}
