//! dynoxide, a DynamoDB emulator, in this process: a table of it behind the AWS SDK's client.
//!
//! It keeps AWS's rules closely, with one known difference: a put that changes nothing leaves a record in its stream, where AWS leaves none
//! (F-STR-4). So no test reads its stream.
#![allow(
    dead_code,
    unreachable_pub,
    missing_docs,
    clippy::unwrap_used,
    reason = "helpers of tests and benches"
)]

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{BehaviorVersion, Credentials, Region};
use aws_sdk_dynamodb::types::{
    AttributeDefinition, BillingMode, GlobalSecondaryIndex, KeySchemaElement, KeyType, Projection,
    ProjectionType, ScalarAttributeType,
};
use sagaline_store::{DynamoTable, Index, PK, SK};

pub const TABLE: &str = "orders";

/// A server of one's own on a free port of the loopback interface; it ends with the runtime of the test.
pub async fn client() -> Client {
    let database = dynoxide::Database::memory().unwrap();
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(dynoxide::server::serve_on(listener, database));
    let config = aws_sdk_dynamodb::Config::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-central-1"))
        .endpoint_url(format!("http://{address}"))
        .credentials_provider(Credentials::new("test", "test", None, None, "test"))
        .build();
    let client = Client::from_conf(config);
    create(&client).await;
    client
}

pub async fn table() -> DynamoTable {
    DynamoTable::new(client().await, TABLE)
}

/// The table as the template has it; its keys and indexes come from the key schema.
async fn create(client: &Client) {
    let keys = |partition: &str, sort: &str| {
        [(partition, KeyType::Hash), (sort, KeyType::Range)].map(|(name, kind)| {
            let key = KeySchemaElement::builder();
            key.attribute_name(name).key_type(kind).build().unwrap()
        })
    };
    let names = Index::ALL.map(|index| [index.partition(), index.sort()]);
    let names = names.into_iter().flatten().chain([PK, SK]);
    let attributes = names.map(|name| {
        let text = AttributeDefinition::builder().attribute_type(ScalarAttributeType::S);
        text.attribute_name(name).build().unwrap()
    });
    let indexes = Index::ALL.map(|index| {
        let included = index.included();
        let projection = if included.is_empty() {
            Projection::builder().projection_type(ProjectionType::KeysOnly)
        } else {
            let names = included.iter().map(|name| (*name).to_owned()).collect();
            Projection::builder()
                .projection_type(ProjectionType::Include)
                .set_non_key_attributes(Some(names))
        };
        GlobalSecondaryIndex::builder()
            .index_name(index.name())
            .set_key_schema(Some(keys(index.partition(), index.sort()).into()))
            .projection(projection.build())
            .build()
            .unwrap()
    });
    client
        .create_table()
        .table_name(TABLE)
        .billing_mode(BillingMode::PayPerRequest)
        .set_attribute_definitions(Some(attributes.collect()))
        .set_key_schema(Some(keys(PK, SK).into()))
        .set_global_secondary_indexes(Some(indexes.into()))
        .send()
        .await
        .unwrap();
}
