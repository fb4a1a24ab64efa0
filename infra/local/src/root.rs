//! Where the workspace is.

use std::path::{Path, PathBuf};

/// The workspace's root folder: the nearest one above the current folder that holds `infra/template.yaml`, else the one this crate was built in.
///
/// The current folder comes first so that a copied checkout uses its own files, whatever built the binary.
#[must_use]
pub fn root() -> PathBuf {
    let built_in = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    std::env::current_dir()
        .ok()
        .and_then(|dir| {
            dir.ancestors()
                .find(|dir| is_root(dir))
                .map(Path::to_path_buf)
        })
        .unwrap_or_else(|| built_in.canonicalize().unwrap_or(built_in))
}

fn is_root(dir: &Path) -> bool {
    dir.join("infra/template.yaml").is_file() && dir.join("Cargo.toml").is_file()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_is_the_folder_of_the_template_and_the_workspace_manifest() {
        assert!(is_root(&root()));
        assert!(!is_root(&root().join("infra")));
    }
}
