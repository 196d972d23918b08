//! The chores of people with the shop's orders while the day goes on: an expensive one is approved, one is thought better of.
//!
//! It looks at how things are, not at what it did before, so it can be interrupted anywhere.

use std::time::Duration;

use kinfolk::{Kinfolk, State, Task as _, Timestamp};
use kinfolk_core::StoreError;
use owo_colors::OwoColorize as _;

use super::look::Family;
use super::screen::Screen;
use super::shop::{PackItem, Shelf};
use crate::fault::Fault;

/// How long the boss thinks about an expensive order, and a customer about a piano.
const SECOND_THOUGHTS: Duration = Duration::from_millis(1_500);

/// Does what is to be done now about an order.
pub(super) async fn attend(family: &Family, now: Timestamp, kinfolk: &Kinfolk, screen: &Screen) -> Result<(), Fault> {
    let (task, order) = (&family.root, &family.order);
    if task.state != State::Waiting || now.since(task.started_at.unwrap_or(now)) < SECOND_THOUGHTS {
        return Ok(());
    }
    if task.signals.iter().any(|signal| signal.as_ref() == "approve") {
        kinfolk.signal(task.id, "approve", &true).await?;
        screen.event(&format!(
            "{} order {}: approved by the boss, {} €",
            "☑".green(),
            order.number,
            order.cents() / 100
        ))?;
    }
    let packing = family.children.iter().any(|child| child.command.as_str() == PackItem::COMMAND);
    let regrets = packing && order.items.iter().any(|item| item.shelf == Shelf::High);
    if regrets && task.cancel_requested_at.is_none() {
        match kinfolk.cancel(task.id).await {
            // It has ended meanwhile.
            Err(StoreError::WrongState { .. }) => return Ok(()),
            answer => drop(answer?),
        }
        screen.event(&format!(
            "{} order {}: cancelled, the customer changed their mind",
            "■".magenta(),
            order.number
        ))?;
    }
    Ok(())
}
