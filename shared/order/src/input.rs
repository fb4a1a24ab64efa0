//! The order input: what a caller may ask for, checked field by field before anything is written.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;

use crate::order::SCHEMA;
use crate::{
    Context, Currency, LastEvent, Line, Minor, Order, OrderId, Quantity, RequestId, Shipping, Sku,
    State, Steps, UserId, Version,
};

/// The most lines an order may have: so that placing with stock fits one transaction of 100 actions (F-TX-1).
pub const MAX_LINES: usize = 40;
/// The most keys of the caller's own attributes.
pub const MAX_ATTRIBUTES: usize = 50;
/// The most bytes of the caller's own attributes as JSON text.
pub const MAX_ATTRIBUTE_BYTES: usize = 8 * 1024;
/// The most characters of a payment token.
pub const MAX_PAYMENT_TOKEN: usize = 200;

/// Which field breaks which rule.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {rule}")]
pub struct BadInput {
    /// The field, as `lines[2].qty`.
    pub field: String,
    /// The rule, as a sentence part: `must be 1 to 1,000,000, not 0`.
    pub rule: String,
}

impl BadInput {
    /// A refusal of `field`.
    pub fn new(field: impl Into<String>, rule: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            rule: rule.into(),
        }
    }
}

/// One line as it comes in.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineInput {
    /// Product.
    pub sku: String,
    /// Its name.
    #[serde(default)]
    pub name: Option<String>,
    /// How many.
    pub qty: i64,
    /// Price of one in minor units.
    pub unit_minor: i64,
}

/// An order as it comes in: one JSON object.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderInput {
    /// Missing = derived from user and request.
    #[serde(default)]
    pub order_id: Option<String>,
    /// Whose it is.
    pub user_id: String,
    /// Missing = the caller of this function supplies one.
    #[serde(default)]
    pub request_id: Option<String>,
    /// ISO 4217.
    pub currency: String,
    /// 1 to 40.
    pub lines: Vec<LineInput>,
    /// Opaque, for the gateway.
    #[serde(default)]
    pub payment_token: Option<String>,
    /// Where the goods go.
    #[serde(default, deserialize_with = "known_fields_only")]
    pub shipping: Option<Shipping>,
    /// E.164.
    #[serde(default)]
    pub phone: Option<String>,
    /// The caller's own.
    #[serde(default)]
    pub attributes: BTreeMap<String, serde_json::Value>,
}

/// An order that keeps every rule, ready to be placed.
#[derive(Debug, Clone, PartialEq)]
pub struct NewOrder {
    /// The head as it will be written, version 1.
    pub order: Order,
    /// The id that makes the placement happen once.
    pub request_id: RequestId,
    /// What the caller gave, nothing minted: [`OrderInput::payload`] tells a repeat from another request under the same id.
    pub input: OrderInput,
    /// The full phone, for the keyed look-up; stored nowhere.
    pub phone: Option<String>,
}

impl OrderInput {
    /// Reads one JSON object.
    ///
    /// # Errors
    /// [`BadInput`] naming the field where it can be told, else the position in the text. A repeated key is refused: which of the two was meant is anyone's guess.
    pub fn from_json(text: &str) -> Result<Self, BadInput> {
        // serde would fill the fields from a list by position.
        if !text.trim_start().starts_with('{') {
            return Err(BadInput::new("order", "must be one JSON object"));
        }
        let mut json = serde_json::Deserializer::from_str(text);
        let input = serde_path_to_error::deserialize(&mut json).map_err(|e| {
            let path = e.path().to_string();
            let field = if path == "." {
                "order".to_owned()
            } else {
                path
            };
            BadInput::new(field, e.into_inner().to_string())
        })?;
        json.end()
            .map_err(|e| BadInput::new("order", format!("one JSON object is expected: {e}")))?;
        Ok(input)
    }

    /// What the hash in the request guard covers: the caller's own words, without the request id itself.
    #[must_use]
    pub fn payload(&self) -> serde_json::Value {
        let lines: Vec<_> = self
            .lines
            .iter()
            .map(|line| serde_json::json!({"sku": line.sku, "name": line.name, "qty": line.qty, "unit_minor": line.unit_minor}))
            .collect();
        serde_json::json!({
            "order_id": self.order_id, "user_id": self.user_id, "currency": self.currency, "lines": lines,
            "payment_token": self.payment_token, "shipping": self.shipping, "phone": self.phone, "attributes": self.attributes,
        })
    }

    /// Checks every rule and builds the head to be written.
    ///
    /// `fallback` is the request id for an input that has none; `actor` is who places it.
    ///
    /// # Errors
    /// [`BadInput`] for the first rule broken, by field.
    pub fn check(
        &self,
        fallback: &RequestId,
        actor: &str,
        context: &Context,
    ) -> Result<NewOrder, BadInput> {
        let user_id =
            UserId::parse(&self.user_id).map_err(|e| BadInput::new("user_id", e.to_string()))?;
        let request_id = match &self.request_id {
            Some(text) => {
                RequestId::parse(text).map_err(|e| BadInput::new("request_id", e.to_string()))?
            }
            None => fallback.clone(),
        };
        let order_id = match &self.order_id {
            Some(text) => {
                OrderId::parse(text).map_err(|e| BadInput::new("order_id", e.to_string()))?
            }
            None => OrderId::derived(&user_id, &request_id),
        };
        let currency = Currency::parse(&self.currency).ok_or_else(|| {
            BadInput::new(
                "currency",
                format!("'{}' is no ISO 4217 code such as EUR", self.currency),
            )
        })?;
        let (lines, total_minor) = self.check_lines()?;
        self.check_extras()?;
        let at = context.now;
        let order = Order {
            order_id,
            user_id,
            version: Version::FIRST,
            schema: SCHEMA,
            state: State::Placed,
            lines,
            currency,
            total_minor,
            created_at: at,
            updated_at: at,
            shipping: self.shipping.clone(),
            phone_masked: self.phone.as_deref().map(mask),
            payment_token: self.payment_token.clone(),
            attributes: self.attributes.clone(),
            payment_id: None,
            tracking: None,
            confirmed_version: None,
            steps: Steps::default(),
            unwind: None,
            cancel_noted: None,
            notices: Vec::new(),
            attention: None,
            wake_at: Some(at.plus(context.config.step_deadline_s)),
            transitions: 0,
            last_event: LastEvent {
                id: request_id.to_string(),
                kind: "OrderPlaced".to_owned(),
                actor: actor.to_owned(),
                reason: "placed".to_owned(),
                at,
            },
        };
        Ok(NewOrder {
            order,
            request_id,
            input: self.clone(),
            phone: self.phone.clone(),
        })
    }

    fn check_lines(&self) -> Result<(Vec<Line>, Minor), BadInput> {
        if self.lines.is_empty() || self.lines.len() > MAX_LINES {
            return Err(BadInput::new(
                "lines",
                format!("must be 1 to {MAX_LINES}, not {}", self.lines.len()),
            ));
        }
        let mut seen = BTreeSet::new();
        let mut total = Minor::ZERO;
        let mut lines = Vec::with_capacity(self.lines.len());
        for (i, line) in self.lines.iter().enumerate() {
            let field = |name: &str| format!("lines[{i}].{name}");
            let sku =
                Sku::parse(&line.sku).map_err(|e| BadInput::new(field("sku"), e.to_string()))?;
            if !seen.insert(sku.clone()) {
                return Err(BadInput::new(
                    field("sku"),
                    format!("'{sku}' stands on an earlier line: a sku may appear once an order"),
                ));
            }
            let qty = Quantity::new(line.qty).ok_or_else(|| {
                BadInput::new(
                    field("qty"),
                    format!("must be 1 to 1,000,000, not {}", line.qty),
                )
            })?;
            let unit_minor = Minor::new(line.unit_minor).ok_or_else(|| {
                BadInput::new(
                    field("unit_minor"),
                    format!("must not be negative, is {}", line.unit_minor),
                )
            })?;
            total = unit_minor
                .times(qty)
                .and_then(|amount| total.plus(amount))
                .ok_or_else(|| {
                    BadInput::new(
                        field("unit_minor"),
                        "takes the order's total beyond 64 bits",
                    )
                })?;
            lines.push(Line {
                sku,
                name: line.name.clone(),
                qty,
                unit_minor,
            });
        }
        Ok((lines, total))
    }

    fn check_extras(&self) -> Result<(), BadInput> {
        if let Some(token) = &self.payment_token
            && (token.is_empty() || token.chars().count() > MAX_PAYMENT_TOKEN)
        {
            return Err(BadInput::new(
                "payment_token",
                format!("must be 1 to {MAX_PAYMENT_TOKEN} characters"),
            ));
        }
        if let Some(phone) = &self.phone
            && !is_e164(phone)
        {
            return Err(BadInput::new(
                "phone",
                "must be E.164: + and 7 to 15 digits, the first not 0",
            ));
        }
        if self.attributes.len() > MAX_ATTRIBUTES {
            return Err(BadInput::new(
                "attributes",
                format!(
                    "must have at most {MAX_ATTRIBUTES} keys, has {}",
                    self.attributes.len()
                ),
            ));
        }
        let bytes = serde_json::to_string(&self.attributes).map_or(usize::MAX, |text| text.len());
        if bytes > MAX_ATTRIBUTE_BYTES {
            return Err(BadInput::new(
                "attributes",
                format!("must be at most {MAX_ATTRIBUTE_BYTES} bytes as JSON, are {bytes}"),
            ));
        }
        Ok(())
    }
}

/// An address as it comes in: a field that is not known is a mistake. A stored one may have more, written by a later release.
#[derive(Deserialize)]
#[serde(remote = "Shipping", deny_unknown_fields)]
struct GivenShipping {
    name: String,
    street: String,
    city: String,
    #[serde(default)]
    region: Option<String>,
    #[serde(default)]
    postal_code: Option<String>,
    country: String,
}

fn known_fields_only<'de, D: serde::Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Shipping>, D::Error> {
    #[derive(Deserialize)]
    struct Given(#[serde(with = "GivenShipping")] Shipping);
    Option::<Given>::deserialize(deserializer).map(|given| given.map(|Given(shipping)| shipping))
}

fn is_e164(phone: &str) -> bool {
    phone.strip_prefix('+').is_some_and(|digits| {
        (7..=15).contains(&digits.len())
            && digits.bytes().all(|b| b.is_ascii_digit())
            && !digits.starts_with('0')
    })
}

fn mask(phone: &str) -> String {
    let shown = phone.len().saturating_sub(2);
    phone
        .char_indices()
        .map(|(i, c)| if i == 0 || i >= shown { c } else { '*' })
        .collect()
}
