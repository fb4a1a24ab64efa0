//! How many documents a second one core projects and encodes: from the head of a stream record to the bytes of `_bulk` requests.
//!
//! `cargo bench -p sagaline-search`. The aim is 150,000 a second.

#![allow(clippy::expect_used, reason = "a bench fails by panicking")]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sagaline_search::{Limits, SearchInput, bulk_bodies};
use sagaline_stream::Image;
use std::hint::black_box;

/// What a request takes.
const DOCUMENTS: usize = 1_000;

/// An order of two lines, as it stands in the table.
fn head(n: usize) -> String {
    format!(
        r#"{{"PK":{{"S":"ORDER#0198f2c4-{n:04}-7000-8000-000000000000"}},"SK":{{"S":"ORDER#DETAIL"}},"order_id":{{"S":"0198f2c4-{n:04}-7000-8000-000000000000"}},
        "user_id":{{"S":"user-{n}"}},"version":{{"N":"4"}},"schema":{{"N":"1"}},"status":{{"S":"PROCESSING"}},"state":{{"S":"Confirmed"}},
        "currency":{{"S":"EUR"}},"total_minor":{{"N":"3750"}},"created_at":{{"S":"2026-01-31T08:30:00.000Z"}},"updated_at":{{"S":"2026-01-31T08:30:05.250Z"}},
        "lines":{{"L":[{{"M":{{"sku":{{"S":"MUG-BLUE"}},"name":{{"S":"Blue mug"}},"qty":{{"N":"2"}},"unit_minor":{{"N":"1250"}}}}}},
        {{"M":{{"sku":{{"S":"TEA-1"}},"name":{{"S":"Green tea"}},"qty":{{"N":"1"}},"unit_minor":{{"N":"1250"}}}}}}]}},
        "shipping":{{"M":{{"name":{{"S":"Ada"}},"street":{{"S":"Main St 1"}},"city":{{"S":"Berlin"}},"country":{{"S":"DE"}}}}}},"phone_masked":{{"S":"+49***12"}},
        "payment_id":{{"S":"pay-{n}"}},"steps":{{"M":{{"pay":{{"M":{{"state":{{"S":"Succeeded"}}}}}}}}}},"attributes":{{"M":{{"gift":{{"BOOL":true}},"note":{{"S":"to you"}}}}}},
        "transitions":{{"N":"4"}}}}"#
    )
}

fn projection(c: &mut Criterion) {
    let heads: Vec<String> = (0..DOCUMENTS).map(head).collect();
    let images: Vec<Image<'_>> = heads
        .iter()
        .map(|head| Image::parse(head).expect("a head"))
        .collect();
    let limits = Limits::default();
    let mut group = c.benchmark_group("search");
    group.throughput(Throughput::Elements(DOCUMENTS as u64));
    group.bench_function("project and encode", |b| {
        b.iter(|| {
            let inputs: Vec<SearchInput> = images
                .iter()
                .map(|head| SearchInput::from_head(head).expect("an input"))
                .collect();
            black_box(bulk_bodies(&inputs, &limits))
        });
    });
    group.finish();
}

criterion_group!(benches, projection);
criterion_main!(benches);
