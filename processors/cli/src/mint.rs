//! What only the edge may make: the present, and ids that name nothing yet.

use sagaline_order::{Context, SagaConfig};

/// A fresh id.
pub(crate) fn id() -> String {
    #[expect(
        clippy::disallowed_methods,
        reason = "the edge of the command line: the caller gave no id, and is shown this one"
    )]
    let id = uuid::Uuid::new_v4();
    id.to_string()
}

/// The present with the settings' defaults: enough to check an input before anything is asked of anyone.
pub(crate) fn offline_context() -> Context {
    Context {
        now: sagaline_lambda::now(),
        config: SagaConfig::default(),
    }
}

/// Who does it, for the history: `operator:<login name>`.
pub(crate) fn actor() -> String {
    let name = ["USER", "LOGNAME"]
        .iter()
        .find_map(|name| std::env::var(name).ok())
        .filter(|name| !name.is_empty());
    format!("operator:{}", name.as_deref().unwrap_or("unknown"))
}
