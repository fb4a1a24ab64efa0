//! The decoder never panics, and a bad record never costs its neighbours.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sagaline_stream::{Attribute, Batch, FailureDocument, Image, SqsBatch};

const NEIGHBOUR: &str = r#"{"eventID":"e","eventName":"REMOVE","dynamodb":{"SequenceNumber":"1"}}"#;

fuzz_target!(|data: &[u8]| {
    // As a whole event, of each kind.
    if let Ok(batch) = Batch::parse_file(data) {
        assert_eq!(batch.records().count(), batch.len());
    }
    let _ = SqsBatch::parse(data);
    let _ = FailureDocument::parse(data);

    let Ok(text) = std::str::from_utf8(data) else { return };

    // As a value: what is read comes back from its canonical text.
    if let Ok(image) = Image::parse(text) {
        let canonical = image.to_canonical();
        assert_eq!(Image::parse(&canonical).map(|image| image.to_canonical()), Ok(canonical));
    }
    let _ = Attribute::parse(text);

    // As a record between two good ones. If it is JSON at all, it is split off as one; whatever it means is its own affair.
    if serde_json::from_str::<&serde_json::value::RawValue>(text).is_ok() {
        let event = format!(r#"{{"Records":[{NEIGHBOUR},{text},{NEIGHBOUR}]}}"#);
        let batch = Batch::parse(event.as_bytes()).expect("the event stands");
        let records: Vec<bool> = batch.records().map(|record| record.is_ok()).collect();
        assert_eq!(records.len(), 3);
        assert!(records[0] && records[2], "a neighbour was lost");
    }
});
