//! A snapshot of environment variables, and what can be wrong with one.

use std::collections::BTreeMap;
use std::ffi::OsString;

/// A variable that is missing or malformed: one line that names it.
///
/// Values are not repeated: one of them may be a secret's.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{name} {rule}")]
pub struct BadVariable {
    name: &'static str,
    rule: String,
}

impl BadVariable {
    /// A variable and the rule it breaks, as in "is not set".
    pub fn new(name: &'static str, rule: impl Into<String>) -> Self {
        Self {
            name,
            rule: rule.into(),
        }
    }

    /// The variable.
    #[must_use]
    pub const fn name(&self) -> &'static str {
        self.name
    }
}

/// Environment variables, as they were once. `Debug` shows their names only: among the values are credentials.
#[derive(Clone, Default)]
pub struct Vars {
    values: BTreeMap<OsString, OsString>,
}

impl Vars {
    /// Those of this process.
    #[must_use]
    pub fn of_process() -> Self {
        Self {
            values: std::env::vars_os().collect(),
        }
    }

    /// Whether it is set to something.
    #[must_use]
    pub fn is_set(&self, name: &str) -> bool {
        self.values
            .get(std::ffi::OsStr::new(name))
            .is_some_and(|value| !value.is_empty())
    }

    /// The text of a variable, set or not; an empty one is set.
    ///
    /// # Errors
    /// When it is no UTF-8.
    pub fn text(&self, name: &'static str) -> Result<Option<String>, BadVariable> {
        match self.values.get(std::ffi::OsStr::new(name)) {
            None => Ok(None),
            Some(value) => value
                .to_str()
                .map(|text| Some(text.to_owned()))
                .ok_or_else(|| BadVariable::new(name, "is no UTF-8 text")),
        }
    }

    /// A variable that may be missing; an empty one is.
    ///
    /// # Errors
    /// When it is set and breaks its rule.
    pub fn optional<T>(
        &self,
        name: &'static str,
        rule: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<Option<T>, BadVariable> {
        match self.text(name)?.filter(|text| !text.is_empty()) {
            None => Ok(None),
            Some(text) => rule(&text)
                .map(Some)
                .map_err(|broken| BadVariable::new(name, broken)),
        }
    }

    /// A variable that must be there.
    ///
    /// # Errors
    /// When it is missing, empty, or breaks its rule.
    pub fn required<T>(
        &self,
        name: &'static str,
        rule: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, BadVariable> {
        self.optional(name, rule)?
            .ok_or_else(|| BadVariable::new(name, "is not set"))
    }
}

impl std::fmt::Debug for Vars {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_set().entries(self.values.keys()).finish()
    }
}

impl<K: Into<OsString>, V: Into<OsString>> FromIterator<(K, V)> for Vars {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(pairs: I) -> Self {
        Self {
            values: pairs
                .into_iter()
                .map(|(name, value)| (name.into(), value.into()))
                .collect(),
        }
    }
}
