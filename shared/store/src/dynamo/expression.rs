//! Conditions and updates as DynamoDB expressions. Every name and value is a placeholder: no reserved word, no quoting.

use std::collections::HashMap;

use aws_sdk_dynamodb::types::AttributeValue;

use crate::key::PK;
use crate::table::{Condition, Update};
use crate::value::n;

/// The parts of a request that hold expressions. What is empty is absent: DynamoDB refuses empty parts.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Expression {
    pub(super) update: Option<String>,
    pub(super) condition: Option<String>,
    pub(super) names: Option<HashMap<String, String>>,
    pub(super) values: Option<HashMap<String, AttributeValue>>,
}

impl Expression {
    pub(super) fn of_condition(condition: Option<&Condition>) -> Self {
        let mut expression = Self::default();
        expression.condition = condition.map(|condition| expression.condition(condition));
        expression
    }

    pub(super) fn of_update(update: &Update) -> Self {
        let mut expression = Self::default();
        let set: Vec<_> = update
            .set
            .iter()
            .map(|(name, value)| {
                format!(
                    "{} = {}",
                    expression.name(name),
                    expression.value(value.clone())
                )
            })
            .collect();
        let remove: Vec<_> = update
            .remove
            .iter()
            .map(|name| expression.name(name))
            .collect();
        let add: Vec<_> = update
            .add
            .iter()
            .map(|(name, number)| {
                format!("{} {}", expression.name(name), expression.value(n(number)))
            })
            .collect();
        let clauses = [("SET", set), ("REMOVE", remove), ("ADD", add)];
        let clauses: Vec<_> = clauses
            .into_iter()
            .filter(|(_, parts)| !parts.is_empty())
            .map(|(verb, parts)| format!("{verb} {}", parts.join(", ")))
            .collect();
        expression.update = (!clauses.is_empty()).then(|| clauses.join(" "));
        expression.condition = update
            .condition
            .as_ref()
            .map(|condition| expression.condition(condition));
        expression
    }

    fn condition(&mut self, condition: &Condition) -> String {
        match condition {
            Condition::NotExists => format!("attribute_not_exists({})", self.name(PK)),
            Condition::VersionIs(version) => {
                format!("{} = {}", self.name("version"), self.value(n(version)))
            }
            Condition::AtLeast(name, least) => {
                format!("{} >= {}", self.name(name), self.value(n(least)))
            }
            Condition::Is(name, value) => {
                format!("{} = {}", self.name(name), self.value(value.clone()))
            }
            Condition::NotExistsOr(name, value) => {
                format!(
                    "attribute_not_exists({}) OR {} = {}",
                    self.name(PK),
                    self.name(name),
                    self.value(value.clone())
                )
            }
        }
    }

    /// The placeholder of a name; the same name always has the same.
    fn name(&mut self, name: &str) -> String {
        let names = self.names.get_or_insert_default();
        if let Some((placeholder, _)) = names.iter().find(|(_, known)| *known == name) {
            return placeholder.clone();
        }
        let placeholder = format!("#n{}", names.len());
        names.insert(placeholder.clone(), name.to_owned());
        placeholder
    }

    fn value(&mut self, value: AttributeValue) -> String {
        let values = self.values.get_or_insert_default();
        let placeholder = format!(":v{}", values.len());
        values.insert(placeholder.clone(), value);
        placeholder
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::key::Key;
    use crate::value::s;
    use sagaline_order::{OrderId, Version};

    /// The expressions with their placeholders filled in.
    fn shown(expression: &Expression) -> String {
        let mut text = format!(
            "{} | {}",
            expression.update.as_deref().unwrap_or("-"),
            expression.condition.as_deref().unwrap_or("-")
        );
        let mut fill: Vec<_> = expression
            .names
            .iter()
            .flatten()
            .map(|(k, v)| (k.clone(), v.clone()))
            .collect();
        fill.extend(
            expression
                .values
                .iter()
                .flatten()
                .map(|(k, v)| (k.clone(), v.as_s().or(v.as_n()).unwrap().clone())),
        );
        fill.sort_by_key(|(placeholder, _)| std::cmp::Reverse(placeholder.len()));
        for (placeholder, value) in fill {
            text = text.replace(&placeholder, &value);
        }
        text
    }

    #[test]
    fn an_update_sets_removes_and_adds_in_one_expression() {
        let mut update = Update::of(Key::head(&OrderId::parse("o-1").unwrap()))
            .set("status", s("PAID"))
            .set("version", n(5))
            .add("stock", -3);
        update.remove = vec!["due_pk".to_owned(), "due_sk".to_owned()];
        update.condition = Some(Condition::VersionIs(Version::new(4).unwrap()));
        assert_eq!(
            shown(&Expression::of_update(&update)),
            "SET status = PAID, version = 5 REMOVE due_pk, due_sk ADD stock -3 | version = 4"
        );
    }

    #[test]
    fn conditions_read_as_dynamodb_wants_them() {
        let check = |condition: &Condition, expected: &str| {
            assert_eq!(
                shown(&Expression::of_condition(Some(condition))),
                format!("- | {expected}")
            )
        };
        check(&Condition::NotExists, "attribute_not_exists(PK)");
        check(&Condition::AtLeast("stock", 3), "stock >= 3");
        check(&Condition::Is("stock", n(3)), "stock = 3");
        check(
            &Condition::NotExistsOr("order_id", s("o-1")),
            "attribute_not_exists(PK) OR order_id = o-1",
        );
    }

    #[test]
    fn what_is_empty_is_absent() {
        assert_eq!(Expression::of_condition(None), Expression::default());
    }
}
