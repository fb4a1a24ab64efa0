//! The environment of a bootstrap: what Lambda sets, and nothing else of the runner's.

use std::collections::BTreeMap;
use std::ffi::OsString;

use aws_credential_types::provider::ProvideCredentials;

use super::Spec;

/// Variables of the runner that are passed on besides those of AWS.
const PASSED_ON: [&str; 3] = ["PATH", "RUST_LOG", "RUST_BACKTRACE"];

/// The names are those of the Lambda guide, "Defined runtime environment variables".
pub(super) async fn of(
    spec: &Spec,
    runtime_api: &str,
    log_stream: &str,
) -> BTreeMap<OsString, OsString> {
    let mut env: BTreeMap<OsString, OsString> = BTreeMap::new();
    for (name, value) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if PASSED_ON.contains(&&*text)
            || (text.starts_with("AWS_") && !text.starts_with("AWS_LAMBDA_"))
        {
            env.insert(name, value);
        }
    }
    let mut set = |name: &str, value: &str| env.insert(name.into(), value.into());
    if let Some(url) = &spec.setting.endpoint_url {
        set("AWS_ENDPOINT_URL", url);
    }
    if let Some(provider) = &spec.setting.credentials {
        match provider.provide_credentials().await {
            Ok(credentials) => {
                set("AWS_ACCESS_KEY_ID", credentials.access_key_id());
                set("AWS_SECRET_ACCESS_KEY", credentials.secret_access_key());
                if let Some(token) = credentials.session_token() {
                    set("AWS_SESSION_TOKEN", token);
                }
            }
            Err(error) => {
                tracing::warn!(function = %spec.name, %error, "no credentials to pass on")
            }
        }
    }
    for (name, value) in &spec.env {
        set(name, value);
    }
    // Lambda reserves these names: a configured value does not win over them.
    let folder = spec
        .bootstrap
        .parent()
        .map(|folder| folder.to_string_lossy().into_owned())
        .unwrap_or_default();
    set("AWS_REGION", &spec.setting.region);
    set("AWS_DEFAULT_REGION", &spec.setting.region);
    set("AWS_LAMBDA_FUNCTION_NAME", &spec.name);
    set("AWS_LAMBDA_FUNCTION_VERSION", "$LATEST");
    set(
        "AWS_LAMBDA_FUNCTION_MEMORY_SIZE",
        &spec.memory_mb.to_string(),
    );
    set("AWS_LAMBDA_INITIALIZATION_TYPE", "on-demand");
    set(
        "AWS_LAMBDA_LOG_GROUP_NAME",
        &format!("/aws/lambda/{}", spec.name),
    );
    set("AWS_LAMBDA_LOG_STREAM_NAME", log_stream);
    set("AWS_LAMBDA_RUNTIME_API", runtime_api);
    set("LAMBDA_TASK_ROOT", &folder);
    set("LAMBDA_RUNTIME_DIR", &folder);
    set("_HANDLER", "bootstrap");
    set("TZ", ":UTC");
    env
}
