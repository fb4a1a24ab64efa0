//! What an event would do: the verdict, the reason, and the exact writes. For dry runs and `sagaline explain`.

use crate::commands::operate;
use crate::error::{Code, CommandError};
use crate::output;
use sagaline_order::{Change, Event, Order, StepStatus, TableEffect, Verdict};
use sagaline_saga::{Clock, Foreseen, Recorder, Submission};
use sagaline_store::value::{map_to_json, to_json};
use sagaline_store::{Action, Condition, Item, Key, PK, SK, Table};
use serde_json::{Map, Value, json};

/// Shows what a submission would do. What would be refused is an error, as it would be with `--yes`.
pub(super) async fn dry_run<T: Table, C: Clock>(
    recorder: &Recorder<T, C>,
    order: &Order,
    submission: &Submission,
    json: bool,
) -> Result<(), CommandError> {
    if submission
        .expected
        .is_some_and(|version| version != order.version)
    {
        return Err(operate::moved(order));
    }
    let foreseen = recorder.foresee(order, submission).await;
    let foreseen =
        foreseen.map_err(|error| CommandError::of_drive(&submission.request_id, &error))?;
    let Order {
        order_id,
        state,
        version,
        ..
    } = order;
    let reason = &foreseen.decision.reason;
    match foreseen.decision.verdict {
        Verdict::Refused => {
            return Err(
                CommandError::new(Code::NotAllowed, format!("refused: {reason}")).advise(format!(
                    "order {order_id} is {state:?}, see `sagaline show {order_id}`"
                )),
            );
        }
        Verdict::NoEffect if !json => {
            output::line(&format!(
                "order {order_id} is {state:?}: nothing to do: {reason}"
            ));
        }
        Verdict::NoEffect | Verdict::Applied => {
            explain(order, &submission.event, &foreseen, json);
            if !json {
                let act = if matches!(submission.event, Event::CancelRequested { .. }) {
                    "without --dry-run, and"
                } else {
                    "with --yes"
                };
                output::line(&format!(
                    "nothing was done; run it again {act} --expect {version}"
                ));
            }
        }
    }
    Ok(())
}

/// Shows what an event would do.
pub(super) fn explain(order: &Order, event: &Event, foreseen: &Foreseen, json: bool) {
    let Foreseen {
        decision,
        after,
        writes,
    } = foreseen;
    if json {
        let writes: Vec<Value> = writes.iter().map(write).collect();
        output::json(&json!({
            "result": "dry_run", "order_id": order.order_id, "version": order.version, "state": order.state,
            "event": event.kind(), "verdict": decision.verdict, "reason": decision.reason, "changes": decision.changes,
            "leads_to": after.as_ref().map(|after| after.state), "writes": writes, "left_behind": left_behind(order, event),
        }));
        return;
    }
    output::line(&words(order, event, foreseen));
}

fn words(order: &Order, event: &Event, foreseen: &Foreseen) -> String {
    let Foreseen {
        decision,
        after,
        writes,
    } = foreseen;
    let verdict = match decision.verdict {
        Verdict::Applied => "applied",
        Verdict::NoEffect => "no effect",
        Verdict::Refused => "refused",
    };
    let mut lines = vec![
        format!(
            "order {}, {:?}, version {}",
            order.order_id, order.state, order.version
        ),
        format!("{}: {verdict}: {}", event.kind(), decision.reason),
    ];
    if let Some(after) = after {
        let kinds: Vec<String> = decision.changes.iter().map(kind).collect();
        let wake = after.wake_at.map_or_else(
            || "it is finished".to_owned(),
            |at| format!("next wake {at}"),
        );
        lines.push(format!("records {}", kinds.join(", ")));
        lines.push(format!(
            "leads to {:?}, version {}, {wake}",
            after.state, after.version
        ));
    }
    if decision.effects.contains(&TableEffect::ReturnStock) {
        lines.push("the stock of its lines comes back".to_owned());
    }
    lines.extend(left_behind(order, event).map(|left| format!("leaves behind: {left}")));
    if !writes.is_empty() {
        lines.push("writes, in one transaction:".to_owned());
        lines.extend(
            writes
                .iter()
                .enumerate()
                .map(|(place, action)| format!("  {place}  {}", in_words(action))),
        );
    }
    lines.join("\n")
}

fn kind(change: &Change) -> String {
    let value = serde_json::to_value(change).unwrap_or_default();
    let kind = value.get("kind").and_then(Value::as_str);
    kind.unwrap_or_default().to_owned()
}

fn write(action: &Action) -> Value {
    match action {
        Action::Put { item, condition } => json!({
            "action": "Put", "key": {PK: item.get(PK).map(to_json), SK: item.get(SK).map(to_json)},
            "condition": condition.as_ref().map(clause), "item": shown(item.clone()),
        }),
        Action::Update(update) => json!({
            "action": "Update", "key": {PK: update.key.pk, SK: update.key.sk},
            "condition": update.condition.as_ref().map(clause),
            "set": shown(update.set.clone().into_iter().collect()), "remove": update.remove, "add": update.add,
        }),
    }
}

/// As JSON, without what no terminal needs to show.
fn shown(mut item: Item) -> Map<String, Value> {
    item.remove("payment_token");
    map_to_json(&item)
}

fn in_words(action: &Action) -> String {
    match action {
        Action::Put { item, condition } => {
            let text = |name: &str| {
                let value = item.get(name).and_then(|value| value.as_s().ok());
                value.cloned().unwrap_or_default()
            };
            let condition = condition.as_ref().map(clause);
            let condition = condition.map_or_else(String::new, |clause| format!("  if {clause}"));
            format!("Put     {} / {}{condition}", text(PK), text(SK))
        }
        Action::Update(update) => {
            let Key { pk, sk } = &update.key;
            let condition = update.condition.as_ref().map(clause);
            let condition = condition.map_or_else(String::new, |clause| format!("  if {clause}"));
            let names: Vec<&str> = update.set.keys().map(String::as_str).collect();
            let added = update.add.iter().map(|(name, by)| format!("{name} {by:+}"));
            let added: Vec<String> = added.collect();
            let parts = [
                ("set", names.join(", ")),
                ("remove", update.remove.join(", ")),
                ("add", added.join(", ")),
            ];
            let parts = parts
                .iter()
                .filter(|(_, what)| !what.is_empty())
                .map(|(verb, what)| format!("  {verb} {what}"));
            format!(
                "Update  {pk} / {sk}{condition}{}",
                parts.collect::<String>()
            )
        }
    }
}

fn clause(condition: &Condition) -> String {
    match condition {
        Condition::NotExists => "attribute_not_exists(PK)".to_owned(),
        Condition::VersionIs(version) => format!("version = {version}"),
        Condition::AtLeast(name, least) => format!("{name} >= {least}"),
        Condition::Is(name, value) => format!("{name} = {}", to_json(value)),
        Condition::NotExistsOr(name, value) => {
            format!("attribute_not_exists(PK) OR {name} = {}", to_json(value))
        }
    }
}

/// What an abandoned order leaves for people to settle.
pub(super) fn left_behind(order: &Order, event: &Event) -> Option<String> {
    if !matches!(event, Event::Abandoned { .. }) {
        return None;
    }
    let amount = order.currency.display(order.total_minor.get());
    let payment = order
        .payment_id
        .as_ref()
        .map_or("unknown".to_owned(), ToString::to_string);
    let pay = order.steps.pay.as_ref();
    let money = pay.filter(|pay| !pay.undone).map(|pay| {
        format!(
            "payment {payment} of {amount} ({:?}, not undone)",
            pay.status
        )
    });
    let enquiry = pay
        .and_then(|pay| pay.recheck_at)
        .map(|at| format!("the last enquiry about payment {payment}, due {at}"));
    let goods = order
        .tracking
        .as_ref()
        .map(|tracking| format!("goods on their way ({tracking})"));
    let held = order.steps.reserve.as_ref().is_some_and(|step| {
        step.status == StepStatus::Succeeded && !step.undone && order.tracking.is_some()
    });
    let stock = held.then(|| "the stock of its lines, which stays taken".to_owned());
    let left: Vec<String> = money
        .into_iter()
        .chain(enquiry)
        .chain(goods)
        .chain(stock)
        .collect();
    (!left.is_empty()).then(|| left.join("; "))
}
