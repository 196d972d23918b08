//! Filling the disk: the store must say so, keep what it had, and go on when there is room again.

use std::fs;

use anyhow::{Context, Result, bail, ensure};
use kinfolk_core::{Command, CommandName, Json, NewTask, Store, StoreError};

use super::{NOTE, Orders, made, tell_made};
use crate::sound::all_tasks;

/// What is removed to make room again.
const BALLAST: usize = 1_000_000;
const BATCHES_MAX: usize = 10_000;

/// The store's file is on a small file system of its own, beside the ledger.
pub(super) async fn run(orders: &Orders, store: &dyn Store) -> Result<()> {
    let ballast = orders.ledger.with_file_name("ballast");
    fs::write(&ballast, vec![1; BALLAST]).context("can't write the ballast")?;
    store.register(&[Command::new(CommandName::new(NOTE)?)]).await?;
    let task = NewTask::new(CommandName::new(NOTE)?, Json::of(&"x".repeat(3_000))?);
    let batch = vec![task; 20];
    let mut answered = Vec::new();
    for _ in 0..BATCHES_MAX {
        match store.enqueue(&batch).await {
            Ok(answers) => answered.extend(made(&answers)?),
            Err(StoreError::Full { detail }) => {
                println!("full {detail}");
                break;
            }
            Err(other) => bail!("not the error for a full disk: {other:?}"),
        }
    }
    tell_made(&answered);
    ensure!(all_tasks(store).await?.len() == answered.len(), "something was half-written");
    ensure!(store.check().await?.is_empty(), "the store is not sound when the disk is full");
    fs::remove_file(&ballast)?;
    answered.extend(made(&store.enqueue(&batch).await.context("with room again")?)?);
    ensure!(all_tasks(store).await?.len() == answered.len(), "something was lost when there was room again");
    ensure!(store.check().await?.is_empty(), "the store is not sound with room again");
    Ok(())
}
