//! A bootstrap for tests, on the standard library: what it does is written in the events it gets.
//!
//! `do:env` makes it answer with its environment and the headers of the event. An event that contains `do:raise`, `do:exit`, `do:hang`, `do:garbage`, `do:large`, `do:limit` or `do:leak` makes it do so.
//! Otherwise it names the records that contain `do:report`. `do:slow` takes 300 ms before anything else.
//!
//! Environment: `TEST_INIT` is `error`, `exit` or `hang`; `TEST_BODY` is the answer to everything; `TEST_RECORD` is a file to
//! which it appends one line per event it takes: the ids of the records.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Error, ErrorKind, Read, Result, Write};
use std::net::TcpStream;
use std::process::exit;
use std::thread::{park, park_timeout};
use std::time::Duration;

use serde_json::{Value, json};

/// Lambda's limit for an answer.
const RESPONSE_LIMIT: usize = 6_291_556;

fn main() -> Result<()> {
    let mut api = Api::connect()?;
    println!("init on stdout");
    eprintln!("init on stderr");
    match variable("TEST_INIT").as_str() {
        "error" => {
            api.post(
                "/2018-06-01/runtime/init/error",
                br#"{"errorType":"Init","errorMessage":"no configuration"}"#,
            )?;
            exit(1);
        }
        "exit" => exit(7),
        "hang" => loop {
            park();
        },
        _ => {}
    }
    loop {
        let (headers, event) = api.next()?;
        serve(&mut api, &headers, &event)?;
    }
}

fn serve(api: &mut Api, headers: &Headers, event: &str) -> Result<()> {
    let request_id = headers
        .get("lambda-runtime-aws-request-id")
        .ok_or(ErrorKind::InvalidData)?;
    let parsed: Value = serde_json::from_str(event)?;
    let records = parsed
        .get("Records")
        .and_then(Value::as_array)
        .cloned()
        .unwrap_or_default();
    note(&records)?;
    let answer = format!("/2018-06-01/runtime/invocation/{request_id}/response");
    let has = |word: &str| event.contains(word);
    if has("do:slow") {
        park_timeout(Duration::from_millis(300));
    }
    if has("do:env") {
        let env: Headers = std::env::vars().collect();
        let body = json!({ "env": env, "headers": headers, "folder": std::env::current_dir()? });
        return api.post(&answer, body.to_string().as_bytes()).map(drop);
    }
    if has("do:exit") {
        exit(3);
    }
    if has("do:hang") {
        loop {
            park();
        }
    }
    if has("do:leak") {
        let leak = vec![1_u8; 600 * 1024 * 1024];
        loop {
            park_timeout(Duration::from_secs(60));
            eprintln!("{}", leak.len());
        }
    }
    if has("do:raise") {
        let path = format!("/2018-06-01/runtime/invocation/{request_id}/error");
        return api
            .post(&path, br#"{"errorType":"Raised","errorMessage":"as told"}"#)
            .map(drop);
    }
    if has("do:garbage") {
        return api.post(&answer, b"\xff{not json").map(drop);
    }
    if has("do:large") {
        return api.post(&answer, &vec![b' '; RESPONSE_LIMIT + 1]).map(drop);
    }
    if has("do:limit") {
        let mut body = br#"{"batchItemFailures":[]}"#.to_vec();
        body.resize(RESPONSE_LIMIT, b' ');
        return api.post(&answer, &body).map(drop);
    }
    let body = variable("TEST_BODY");
    if !body.is_empty() {
        return api.post(&answer, body.as_bytes()).map(drop);
    }
    let failures: Vec<Value> = records
        .iter()
        .filter(|record| record.to_string().contains("do:report"))
        .map(|record| json!({ "itemIdentifier": id(record) }))
        .collect();
    api.post(
        &answer,
        json!({ "batchItemFailures": failures })
            .to_string()
            .as_bytes(),
    )
    .map(drop)
}

fn id(record: &Value) -> &str {
    record
        .pointer("/dynamodb/SequenceNumber")
        .or(record.get("messageId"))
        .and_then(Value::as_str)
        .unwrap_or_default()
}

fn note(records: &[Value]) -> Result<()> {
    let path = variable("TEST_RECORD");
    if path.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = records.iter().map(id).collect();
    File::options()
        .create(true)
        .append(true)
        .open(path)?
        .write_all(format!("{}\n", ids.join(" ")).as_bytes())
}

fn variable(name: &str) -> String {
    std::env::var(name).unwrap_or_default()
}

/// Header names, in lower case, and values.
type Headers = BTreeMap<String, String>;

/// A connection to the Runtime API.
struct Api {
    host: String,
    stream: BufReader<TcpStream>,
}

impl Api {
    fn connect() -> Result<Self> {
        let host = variable("AWS_LAMBDA_RUNTIME_API");
        let stream = BufReader::new(TcpStream::connect(&host)?);
        stream.get_ref().set_nodelay(true)?;
        Ok(Self { host, stream })
    }

    fn next(&mut self) -> Result<(Headers, String)> {
        let request = format!(
            "GET /2018-06-01/runtime/invocation/next HTTP/1.1\r\nhost: {}\r\n\r\n",
            self.host
        );
        self.stream.get_mut().write_all(request.as_bytes())?;
        self.read()
    }

    fn post(&mut self, path: &str, body: &[u8]) -> Result<String> {
        let mut request = format!(
            "POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: {}\r\n\r\n",
            self.host,
            body.len()
        )
        .into_bytes();
        request.extend_from_slice(body);
        self.stream.get_mut().write_all(&request)?;
        self.read().map(|(_, body)| body)
    }

    fn read(&mut self) -> Result<(Headers, String)> {
        let mut headers = Headers::new();
        loop {
            let mut line = String::new();
            if self.stream.read_line(&mut line)? == 0 {
                return Err(ErrorKind::UnexpectedEof.into());
            }
            match line.trim_end().split_once(": ") {
                Some((name, value)) => {
                    headers.insert(name.to_ascii_lowercase(), value.to_owned());
                }
                None if line.trim_end().is_empty() => break,
                None => {}
            }
        }
        let length = headers
            .get("content-length")
            .and_then(|length| length.parse().ok())
            .unwrap_or(0);
        let mut body = vec![0; length];
        self.stream.read_exact(&mut body)?;
        String::from_utf8(body)
            .map(|body| (headers, body))
            .map_err(Error::other)
    }
}
