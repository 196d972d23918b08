//! The list of contracts and the contracts that are written are the same.

use std::collections::BTreeSet;
use std::path::Path;

use kinfolk_conformance::CONTRACTS;

/// Every public async function in the contract files, as `group::contract`.
fn written() -> BTreeSet<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/contract");
    let mut found = BTreeSet::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let group = path.file_stem().unwrap().to_str().unwrap().to_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let contracts = text.lines().filter_map(|line| line.strip_prefix("pub async fn ")?.split_once('('));
        found.extend(contracts.map(|(name, _)| format!("{group}::{name}")));
    }
    found
}

#[test]
fn the_list_names_every_contract_that_is_written() {
    let listed: Vec<_> =
        CONTRACTS.iter().flat_map(|(group, names)| names.iter().map(move |name| format!("{group}::{name}"))).collect();
    assert_eq!(listed.len(), listed.iter().collect::<BTreeSet<_>>().len(), "one is listed twice");
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), written());
}

#[test]
fn there_are_more_than_a_hundred_contracts() {
    assert!(written().len() > 100);
}
