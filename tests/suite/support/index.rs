//! An index of one's own on the real server: written through the sink, read as it stands.

use std::collections::BTreeMap;
use std::time::Duration;

use reqwest::{Client, Method};
use sagaline_search::admin::{Names, init};
use sagaline_search::{
    Auth, Limits, SearchClient, SearchInput, SearchSink, SinkVerdict, parse_endpoint,
};
use sagaline_stream::{Budget, EpochMillis, Image, Invocation, Remaining};
use serde_json::{Value, json};

/// The budget of a call that has this long left.
pub(crate) fn budget(left: Duration) -> Budget {
    let invocation = Invocation {
        function: "tests".to_owned(),
        request_id: "r-1".to_owned(),
        received_at: EpochMillis::new(1_764_500_000_000),
        remaining: Remaining::Known(left),
    };
    Budget::start(&invocation, &sagaline_stream::Limits::default())
}

/// An index and its server.
#[derive(Debug)]
pub(crate) struct Index {
    http: Client,
    server: String,
    pub(crate) client: SearchClient,
    pub(crate) names: Names,
}

impl Index {
    /// The index behind that read alias.
    pub(crate) fn at(server: &str, alias: &str) -> Self {
        let sdk = aws_config::SdkConfig::builder().build();
        Self {
            http: Client::new(),
            server: server.to_owned(),
            client: SearchClient::new(parse_endpoint(server).unwrap(), Auth::None, &sdk).unwrap(),
            names: Names::new(alias),
        }
    }

    /// The same index on a server that was started anew.
    pub(crate) fn moved_to(&self, server: &str) -> Self {
        Self::at(server, &self.names.read)
    }

    pub(crate) fn server(&self) -> &str {
        &self.server
    }

    /// Makes it.
    pub(crate) async fn made(self) -> Self {
        init(&self.client, &self.names).await.unwrap();
        self
    }

    pub(crate) fn sink(&self) -> SearchSink {
        self.sink_with(Limits::default())
    }

    pub(crate) fn sink_with(&self, limits: Limits) -> SearchSink {
        SearchSink::with_limits(self.client.clone(), &self.names.write, limits)
    }

    /// Writes through a sink as the projector has it.
    pub(crate) async fn write(&self, inputs: Vec<SearchInput>) -> Vec<SinkVerdict> {
        self.sink()
            .write(inputs, &budget(Duration::from_secs(20)))
            .await
    }

    /// The document of that id as it stands, with `_version`.
    pub(crate) async fn document(&self, id: &str) -> Value {
        self.get(&format!("{}/_doc/{id}", self.names.write)).await
    }

    /// The ids that a search through the read alias finds, in the order of the answer.
    pub(crate) async fn found(&self, search: &Value) -> Vec<String> {
        self.refresh().await;
        let answer = self
            .send(
                Method::POST,
                &format!("{}/_search", self.names.read),
                search,
            )
            .await;
        let hits = answer["hits"]["hits"].as_array().unwrap();
        hits.iter()
            .map(|hit| hit["_id"].as_str().unwrap().to_owned())
            .collect()
    }

    /// Version and deletion mark of every document, tombstones included.
    pub(crate) async fn versions(&self) -> BTreeMap<String, (u64, bool)> {
        self.refresh().await;
        // More than any test has.
        let all = json!({"size": 1_000, "query": {"match_all": {}}});
        let path = format!("{}/_search", self.names.write);
        let answer = self.send(Method::POST, &path, &all).await;
        let hits = answer["hits"]["hits"].as_array().unwrap();
        let of = |hit: &Value| {
            let source = &hit["_source"];
            let seen = (
                source["version"].as_u64().unwrap(),
                source["deleted"] == json!(true),
            );
            (source["order_id"].as_str().unwrap().to_owned(), seen)
        };
        hits.iter().map(of).collect()
    }

    /// The mapping as the server has it.
    pub(crate) async fn mapping(&self) -> Value {
        self.get(&format!("{}/_mapping", self.names.index(1))).await
    }

    /// Changes settings of the index.
    pub(crate) async fn set(&self, settings: &Value) {
        let path = format!("{}/_settings", self.names.index(1));
        self.send(Method::PUT, &path, settings).await;
    }

    pub(crate) async fn get(&self, path: &str) -> Value {
        self.answer(Method::GET, path, None).await.1
    }

    /// Sends a request that must succeed.
    pub(crate) async fn send(&self, method: Method, path: &str, body: &Value) -> Value {
        let (status, answer) = self.answer(method, path, Some(body)).await;
        assert!((200..300).contains(&status), "{path}: {status}: {answer}");
        answer
    }

    /// Sends a request; any status is an answer.
    pub(crate) async fn answer(
        &self,
        method: Method,
        path: &str,
        body: Option<&Value>,
    ) -> (u16, Value) {
        let mut request = self.http.request(method, format!("{}/{path}", self.server));
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.unwrap();
        let status = response.status().as_u16();
        (status, response.json().await.unwrap())
    }

    /// Makes visible what was written.
    pub(crate) async fn refresh(&self) {
        let path = format!("{}/_refresh", self.names.write);
        self.send(Method::POST, &path, &json!({})).await;
    }
}

/// The input of a head with these attributes besides key and version, in DynamoDB JSON.
pub(crate) fn head(id: &str, version: u64, attributes: &Value) -> SearchInput {
    let mut head =
        json!({"PK": {"S": format!("ORDER#{id}")}, "version": {"N": version.to_string()}});
    let more = attributes.as_object().unwrap().clone();
    head.as_object_mut().unwrap().extend(more);
    SearchInput::from_head(&Image::parse(&head.to_string()).unwrap()).unwrap()
}
