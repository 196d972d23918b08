//! The OpenAPI document says what is answered.

use serde_json::Value;

use crate::lab::{Lab, get};

#[tokio::test]
async fn every_operation_is_described_with_its_problems() {
    let lab = Lab::sqlite().await;
    let document = get(&lab.open(), "/api/v1/openapi.json").await.json();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let responses = operation["responses"].as_object().unwrap();
            let good = responses.keys().filter(|status| status.starts_with('2')).count();
            assert!(good >= 1, "{method} {path} has no good answer");
            for status in ["401", "403", "429", "503"] {
                let problem = &responses[status]["content"]["application/problem+json"]["schema"]["$ref"];
                assert_eq!(problem, "#/components/schemas/Problem", "{method} {path} {status}");
            }
            let words = operation["summary"].as_str().or(operation["description"].as_str());
            assert!(words.is_some_and(|words| !words.is_empty()), "{method} {path} is described");
        }
    }
}

#[tokio::test]
async fn every_reference_in_the_document_leads_somewhere() {
    let lab = Lab::sqlite().await;
    let document = get(&lab.open(), "/api/v1/openapi.json").await.json();
    let mut open = vec![&document];
    while let Some(value) = open.pop() {
        match value {
            Value::Object(fields) => {
                if let Some(Value::String(reference)) = fields.get("$ref") {
                    let pointer = reference.strip_prefix('#').unwrap();
                    assert!(document.pointer(pointer).is_some(), "{reference}");
                }
                open.extend(fields.values());
            }
            Value::Array(elements) => open.extend(elements),
            _ => {}
        }
    }
}
