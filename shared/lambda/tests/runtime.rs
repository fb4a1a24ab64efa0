//! A function as Lambda sees it: a child process, fed by a small Runtime API, answers events, errors, panics and garbage.
//!
//! The child is this same test program, told by an environment variable to play the function.

#![expect(
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "the helpers of a test fail like a test"
)]

use sagaline_lambda::{BoxError, Handler, start};
use sagaline_stream::{Invocation, Remaining};
use serde_json::value::RawValue;
use std::process::{Command, ExitCode, Stdio};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

const ROLE: &str = "LAMBDA_TEST_ROLE";

/// Echoes its payload, or does what the payload says.
struct Echo;

impl Handler for Echo {
    type Answer = Box<RawValue>;

    async fn handle(
        &self,
        payload: &[u8],
        invocation: &Invocation,
    ) -> Result<Self::Answer, BoxError> {
        assert!(matches!(invocation.remaining, Remaining::Known(_)));
        match payload {
            br#""fail""# => Err("the store\nis on fire".into()),
            br#""panic""# => panic!("lost my head"),
            other => Ok(RawValue::from_string(String::from_utf8(other.to_vec())?)?),
        }
    }
}

/// Plays the function in the child; passes at once in the parent.
#[test]
fn child() {
    match std::env::var(ROLE).as_deref() {
        Ok("function") => drop(start("echo", async |_| Ok(Echo))),
        Ok("unconfigured") => {
            let code = start("echo", async |vars| {
                sagaline_lambda::config::CommonVars::read(vars)?;
                Ok(Echo)
            });
            assert_ne!(code, ExitCode::SUCCESS);
        }
        _ => {}
    }
}

fn this_program(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().expect("a path"));
    command
        .args(["--exact", "child", "--nocapture"])
        .env(ROLE, role);
    command
}

struct Reaped(std::process::Child);

impl Drop for Reaped {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Reads one HTTP request: its first line and its body.
async fn request(stream: &mut TcpStream) -> Option<(String, String)> {
    let mut seen = Vec::new();
    let mut buffer = [0; 4096];
    loop {
        let read = stream
            .read(&mut buffer)
            .await
            .ok()
            .filter(|read| *read > 0)?;
        seen.extend_from_slice(&buffer[..read]);
        let text = String::from_utf8_lossy(&seen).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        let length = head.lines().find_map(|line| {
            line.to_lowercase()
                .strip_prefix("content-length:")?
                .trim()
                .parse::<usize>()
                .ok()
        });
        let chunked = head.to_lowercase().contains("transfer-encoding: chunked");
        if (chunked && body.ends_with("0\r\n\r\n"))
            || (!chunked && body.len() >= length.unwrap_or(0))
        {
            return Some((
                head.lines().next().unwrap_or_default().to_owned(),
                body.to_owned(),
            ));
        }
    }
}

/// Feeds the events one after another and returns what the function posted for each: path and body.
async fn invoke(events: &[&str]) -> Vec<(String, String)> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("an address").to_string();
    let _function = Reaped(
        this_program("function")
            .env("AWS_LAMBDA_RUNTIME_API", address)
            .env("AWS_LAMBDA_FUNCTION_NAME", "echo")
            .env("AWS_LAMBDA_FUNCTION_VERSION", "1")
            .env("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "128")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("spawns"),
    );
    let mut posted = Vec::new();
    let mut next = events.iter();
    while posted.len() < events.len() {
        let (mut stream, _) = listener.accept().await.expect("a connection");
        while let Some((line, body)) = request(&mut stream).await {
            let answer = if line.starts_with("GET") {
                let Some(event) = next.next() else {
                    return posted;
                };
                format!(
                    "HTTP/1.1 200 OK\r\nlambda-runtime-aws-request-id: r-1\r\nlambda-runtime-deadline-ms: 32503680000000\r\n\
                     lambda-runtime-invoked-function-arn: arn:aws:lambda:eu-west-1:1:function:echo\r\ncontent-length: {}\r\n\r\n{event}",
                    event.len()
                )
            } else {
                posted.push((
                    line.split_whitespace()
                        .nth(1)
                        .unwrap_or_default()
                        .to_owned(),
                    body,
                ));
                "HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n".to_owned()
            };
            stream.write_all(answer.as_bytes()).await.expect("written");
        }
    }
    posted
}

#[tokio::test]
async fn payloads_arrive_as_they_were_sent_and_failures_are_invocation_errors() {
    let event = r#"{"n": 12345678901234567890.120, "Records" : [ ]}"#;
    let posted = invoke(&[
        event,
        "\"fail\"",
        "\"panic\"",
        "{garbage",
        "\u{feff}{}",
        event,
    ])
    .await;
    let paths: Vec<&str> = posted
        .iter()
        .map(|(path, _)| path.rsplit('/').next().unwrap_or_default())
        .collect();
    assert_eq!(
        paths,
        ["response", "error", "error", "error", "error", "response"]
    );
    assert!(posted[0].1.contains(event), "{}", posted[0].1);
    assert!(
        posted[1]
            .1
            .contains(r#""errorMessage":"the store is on fire""#),
        "{}",
        posted[1].1
    );
    assert!(posted[2].1.contains("lost my head"), "{}", posted[2].1);
}

#[test]
fn a_missing_variable_ends_the_start_with_one_line_that_names_it() {
    let output = this_program("unconfigured")
        .env_remove("ORDERS_TABLE")
        .output()
        .expect("runs");
    assert_eq!(
        String::from_utf8_lossy(&output.stderr),
        "echo: ORDERS_TABLE is not set\n"
    );
}

#[test]
fn a_bootstrap_that_nobody_feeds_says_so() {
    let output = this_program("function")
        .env_remove("AWS_LAMBDA_RUNTIME_API")
        .output()
        .expect("runs");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(
        said.starts_with("echo: AWS_LAMBDA_RUNTIME_API is not set"),
        "{said}"
    );
}
