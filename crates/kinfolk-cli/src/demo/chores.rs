//! What people do to the shop's tasks while the night goes on: one order is cancelled, one picture is stopped.
//!
//! It looks at how things are, not at what it did before, so it can be interrupted anywhere.

use std::time::Duration;

use kinfolk::core::inspect::Filter;
use kinfolk::{State, Store, TaskView};
use owo_colors::OwoColorize as _;

use super::night::Night;
use super::screen::Screen;
use crate::fault::Fault;

/// How long the customer thinks about the order.
const SECOND_THOUGHTS: Duration = Duration::from_secs(2);
/// How long someone watches the picture being made.
const TOO_LONG: Duration = Duration::from_millis(1_200);

/// Does what is to be done now.
pub(super) async fn attend(night: Night, store: &dyn Store, screen: &Screen) -> Result<(), Fault> {
    let now = store.now().await?;
    if let Some(order) = find(store, night.to_cancel_key()).await?
        && order.state == State::Pending
        && now.since(order.created_at) >= SECOND_THOUGHTS
    {
        store.cancel(order.id).await?;
        screen.event(&format!("{} order {}: cancelled, the customer changed their mind", "■".magenta(), order.id))?;
    }
    if let Some(picture) = find(store, night.to_stop_key()).await?
        && picture.state == State::Running
        && picture.cancel_requested_at.is_none()
        && picture.started_at.is_some_and(|started| now.since(started) >= TOO_LONG)
    {
        store.cancel(picture.id).await?;
    }
    Ok(())
}

async fn find(store: &dyn Store, key: String) -> Result<Option<TaskView>, Fault> {
    let filter = Filter { unique_key: Some(key), limit: 1, ..Filter::default() };
    Ok(store.list(&filter).await?.tasks.into_iter().next())
}
