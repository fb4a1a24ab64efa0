//! An OpenSearch server of one node, from its libraries in Java, on the loopback interface.

use std::net::{TcpStream, ToSocketAddrs};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::root;
use crate::server::{Server, log_in};
use crate::setup::Installed;

/// A running OpenSearch server. Dropping it stops it; what it stored stays in its folder.
#[derive(Debug)]
pub struct OpenSearch(Server);

impl OpenSearch {
    /// Starts a server that keeps its data and its log in `dir`. Started again with the same folder it has the same documents.
    ///
    /// # Errors
    /// The libraries are not installed, or the server does not come up: then with the end of its log.
    pub fn start(installed: &Installed, dir: &Path) -> Result<Self> {
        ensure!(
            installed.jars.is_dir(),
            "OpenSearch is not installed in {}",
            installed.jars.display()
        );
        // For the native libraries that it unpacks: all that it writes is in `dir`.
        let tmp = dir.join("opensearch-tmp");
        std::fs::create_dir_all(&tmp)
            .with_context(|| format!("cannot create {}", tmp.display()))?;
        let mut java = Command::new("java");
        java.args([
            "-Xms512m",
            "-Xmx512m",
            "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC",
            "-XX:-UsePerfData",
        ])
        .args(
            ["java.io.tmpdir", "jna.tmpdir"]
                .map(|property| format!("-D{property}={}", tmp.display())),
        )
        .arg("-cp")
        .arg(installed.jars.join("*"))
        .arg(root().join("infra/local/EmbeddedOpenSearch.java"))
        .arg(dir.join("opensearch"))
        .arg("0");
        Ok(Self(Server::start(
            "OpenSearch",
            java,
            &log_in(dir, "opensearch"),
        )?))
    }

    /// Where it answers, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        self.0.url()
    }
}

/// Fails unless somebody listens at the URL of a server that is said to run, so that the first sign of a wrong one is not a timeout much later.
pub(crate) fn check_listens(url: &str) -> Result<()> {
    let (host, port) =
        authority(url).with_context(|| format!("`{url}` is no http or https URL"))?;
    let unreachable = || format!("no OpenSearch server answers at {url}");
    let address = (host, port)
        .to_socket_addrs()
        .with_context(unreachable)?
        .next()
        .with_context(unreachable)?;
    TcpStream::connect_timeout(&address, Duration::from_secs(5))
        .map(drop)
        .with_context(unreachable)
}

/// The host and the port of a URL.
fn authority(url: &str) -> Option<(&str, u16)> {
    let (scheme, rest) = url.split_once("://")?;
    let default = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return None,
    };
    let authority = rest.split('/').next()?;
    match authority.rsplit_once(':') {
        Some((host, port)) => Some((host, port.parse().ok()?)),
        None => Some((authority, default)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn host_and_port_are_taken_from_a_url() {
        assert_eq!(
            authority("http://127.0.0.1:9200"),
            Some(("127.0.0.1", 9200))
        );
        assert_eq!(
            authority("https://search.example/path"),
            Some(("search.example", 443))
        );
        assert_eq!(
            authority("http://search.example"),
            Some(("search.example", 80))
        );
        assert_eq!(authority("127.0.0.1:9200"), None);
        assert_eq!(authority("http://host:port"), None);
    }

    #[test]
    fn server_that_is_not_there_is_said_at_once() {
        let free = std::net::TcpListener::bind("127.0.0.1:0")
            .unwrap()
            .local_addr()
            .unwrap();
        let url = format!("http://{free}");
        assert_eq!(
            check_listens(&url).unwrap_err().to_string(),
            format!("no OpenSearch server answers at {url}")
        );
    }
}
