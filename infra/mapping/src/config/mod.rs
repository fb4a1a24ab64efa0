//! What is to run: functions, and the mappings that feed them, in AWS's property names.
//!
//! A [`Config`] that exists is valid: [`Config::parse`] refuses unknown keys, values out of AWS's ranges and settings that
//! are not supported, always by name. It knows the shape of the file, never where the file came from.

mod destination;
mod mapping;
mod object;
mod schedule;

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

pub use destination::DestinationArn;
pub use mapping::{Mapping, QueueSettings, Source, StreamSettings};
pub use schedule::Rate;

use object::Object;

/// Functions and mappings, checked.
#[derive(Debug, Clone, PartialEq)]
pub struct Config {
    /// The functions by name.
    pub functions: BTreeMap<String, Function>,
    /// The mappings in the order of the file. Disabled ones are kept, and not run.
    pub mappings: Vec<Mapping>,
    /// What is legal but probably not meant, one sentence each.
    pub warnings: Vec<String>,
}

/// One function: a program that speaks the Lambda Runtime API.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Function {
    /// The program to start.
    pub bootstrap: PathBuf,
    /// Its configured environment.
    pub env: BTreeMap<String, String>,
    /// How long one call may take. AWS: 1 to 900 s, 3 by default.
    pub timeout: Duration,
    /// Its memory in MB. AWS: 128 to 10,240, 128 by default. A process above it is killed.
    pub memory_mb: u32,
}

/// Why a configuration is refused. Shown to a person as it is: it names the key or the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// The file cannot be read.
    #[error("{path}: cannot be read: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// What the system said.
        reason: String,
    },
    /// The text is no JSON, or holds a key twice.
    #[error("not a usable JSON document: {0}")]
    Json(String),
    /// A key is not known here.
    #[error("{key}: unknown key")]
    Unknown {
        /// The path of the key, as `mappings[0].BatchSise`.
        key: String,
    },
    /// A setting exists on AWS and is not supported here.
    #[error("{key}: not supported: {reason}")]
    Unsupported {
        /// The path of the key.
        key: String,
        /// What to do instead.
        reason: String,
    },
    /// A key is missing.
    #[error("{key}: missing")]
    Missing {
        /// The path of the key.
        key: String,
    },
    /// A value has the wrong type or is outside AWS's range.
    #[error("{key}: {reason}")]
    Invalid {
        /// The path of the key.
        key: String,
        /// What is wrong, and what would be right.
        reason: String,
    },
}

impl Config {
    /// Reads and checks a file. A relative `bootstrap` is taken from the file's folder, else from the working directory.
    ///
    /// # Errors
    /// [`ConfigError`], naming the file or the key.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let text = std::fs::read_to_string(path).map_err(|error| ConfigError::Unreadable {
            path: path.display().to_string(),
            reason: error.to_string(),
        })?;
        let folder = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        Self::parse(&text, folder)
    }

    /// Checks a text. A relative `bootstrap` is taken from `folder`, else from the working directory.
    ///
    /// # Errors
    /// [`ConfigError`], naming the key.
    pub fn parse(text: &str, folder: &Path) -> Result<Self, ConfigError> {
        let mut root = Object::parse(text)?;
        let mut functions = BTreeMap::new();
        let mut declared = root.required_object("functions")?;
        for name in declared.names() {
            let function = Function::parse(declared.required_object(&name)?, folder)?;
            check_function_name(&name, &declared.path_of(&name))?;
            functions.insert(name, function);
        }
        let mut warnings = Vec::new();
        let mut mappings = Vec::new();
        for object in root.required_objects("mappings")? {
            mappings.push(Mapping::parse(object, &functions, &mut warnings)?);
        }
        root.finish()?;
        refuse_twice(&mappings)?;
        warn_of_readers(&mappings, &mut warnings);
        Ok(Self {
            functions,
            mappings,
            warnings,
        })
    }
}

impl Function {
    fn parse(mut object: Object, folder: &Path) -> Result<Self, ConfigError> {
        let key = object.path_of("bootstrap");
        let bootstrap = find_bootstrap(&object.required_text("bootstrap")?, folder, &key)?;
        let env = match object.object("env")? {
            None => BTreeMap::new(),
            Some(env) => env.into_texts()?,
        };
        // AWS: Timeout 1 to 900 s, MemorySize 128 to 10,240 MB (Lambda quotas page).
        let timeout = Duration::from_secs(object.integer("timeout_s", 1, 900)?.unwrap_or(3));
        let memory_mb =
            u32::try_from(object.integer("memory_mb", 128, 10_240)?.unwrap_or(128)).unwrap_or(128);
        object.finish()?;
        Ok(Self {
            bootstrap,
            env,
            timeout,
            memory_mb,
        })
    }
}

/// AWS: 1 to 64 of letters, digits, hyphen and underscore (CreateFunction, FunctionName).
fn check_function_name(name: &str, key: &str) -> Result<(), ConfigError> {
    let fits = (1..=64).contains(&name.len())
        && name
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_');
    if fits {
        Ok(())
    } else {
        Err(ConfigError::Invalid {
            key: key.to_owned(),
            reason: "a function name has 1 to 64 of A-Z a-z 0-9 - _".to_owned(),
        })
    }
}

fn find_bootstrap(text: &str, folder: &Path, key: &str) -> Result<PathBuf, ConfigError> {
    let invalid = |reason: String| ConfigError::Invalid {
        key: key.to_owned(),
        reason,
    };
    let candidates = [folder.join(text), PathBuf::from(text)];
    let found = candidates
        .iter()
        .find(|path| path.exists())
        .ok_or_else(|| invalid(format!("bootstrap {text} does not exist")))?;
    let meta = found
        .metadata()
        .map_err(|error| invalid(format!("bootstrap {text} cannot be examined: {error}")))?;
    if !meta.is_file() {
        return Err(invalid(format!("bootstrap {text} is not a file")));
    }
    if std::os::unix::fs::PermissionsExt::mode(&meta.permissions()) & 0o111 == 0 {
        return Err(invalid(format!("bootstrap {text} is not executable")));
    }
    found
        .canonicalize()
        .map_err(|error| invalid(format!("bootstrap {text} cannot be resolved: {error}")))
}

/// AWS refuses a second mapping of the same function on the same stream or queue with 409 (F-ESM-18). Schedules are rules of
/// EventBridge: any number of them may call a function.
fn refuse_twice(mappings: &[Mapping]) -> Result<(), ConfigError> {
    let mut seen = BTreeSet::new();
    for mapping in mappings {
        let repeatable = matches!(mapping.source, Source::Schedule { .. });
        if !seen.insert(mapping.id()) && !repeatable {
            let (function, source) = (&mapping.function, mapping.source.name());
            return Err(ConfigError::Invalid {
                key: format!("{}.function", mapping.key),
                reason: format!(
                    "function {function} is mapped to {source} already; AWS refuses the second mapping"
                ),
            });
        }
    }
    Ok(())
}

/// More than two readers of a shard are throttled, all of them (F-STR-6).
fn warn_of_readers(mappings: &[Mapping], warnings: &mut Vec<String>) {
    let mut readers: BTreeMap<&str, usize> = BTreeMap::new();
    for mapping in mappings.iter().filter(|mapping| mapping.enabled) {
        if let Source::Table { table, .. } = &mapping.source {
            let count = readers.entry(table).or_default();
            *count += 1;
            if *count == 3 {
                warnings.push(format!(
                    "{}.table: {table} has more than two readers, which AWS throttles",
                    mapping.key
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests;
