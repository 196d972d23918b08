//! Actions on all tasks that match a filter: what a list shows, and what stands on its other pages.

use kinfolk_core::inspect::Filter;
use kinfolk_core::limits::LOOK_MAX;
use kinfolk_core::operate::Action;

use super::{Done, Plan, Sent};
use crate::pages::address::Address;
use crate::pages::part::words;
use crate::pages::query;
use crate::problem::Problem;
use crate::visit::Visit;

/// The filter that a form has, as it stood in the address of the list.
fn filter(sent: &Sent) -> Result<Filter, Problem> {
    let address = Address::at(&format!("/tasks{}", sent.need("filter")?));
    if query::as_text(&address).is_empty() {
        return Err(Problem::input("there is no filter; say which tasks are meant"));
    }
    query::filter(&address, 1)
}

/// What the action would do.
pub(super) async fn plan(visit: &Visit, action: Action, sent: &Sent) -> Result<Plan, Problem> {
    let filter = filter(sent)?;
    let all = visit.view().count(&filter).await?;
    let fits = visit.act().count_bulk(action, &filter).await?;
    let (verb, line, danger) = match action {
        Action::Retry => (
            "Retry",
            "with fresh attempts, at its old position; in a family that has ended, what failed there runs again",
            false,
        ),
        Action::RunNow => ("Run", "pending: what is not due stands in line from now on", false),
        Action::Cancel => {
            ("Cancel", "open: what pends ends at once, what runs is asked to stop, with all below it", true)
        }
        Action::Delete => ("Delete", "ended: gone for good, with all below it", true),
    };
    let now = if action == Action::RunNow { " now" } else { "" };
    let more = if fits.more { "more than " } else { "" };
    let many = words::many(fits.tasks, "task", "tasks");
    let mut lines = vec![(format!("{more}{}", words::count(fits.tasks)), line.to_owned())];
    if all.tasks > fits.tasks && !fits.more {
        lines.push((words::count(all.tasks - fits.tasks), "match too, and stay as they are".to_owned()));
    }
    if fits.tasks >= LOOK_MAX as u64 {
        lines.push((
            String::new(),
            "It goes on page by page. What one request does not reach is there to be asked for again.".to_owned(),
        ));
    }
    lines.retain(|(many, _)| many != "0");
    Ok(Plan {
        title: format!("{verb} {more}{many} that match{}{now}?", if fits.tasks == 1 { "es" } else { "" }),
        lines,
        button: format!("{verb} {more}{many}{now}"),
        danger,
        count: fits.tasks,
        inputs: Vec::new(),
    })
}

/// Does it to as many as were counted.
pub(super) async fn act(visit: &Visit, action: Action, sent: &Sent, count: u64) -> Result<Done, Problem> {
    let page = visit.act().bulk(action, &filter(sent)?, Some(count)).await?;
    Ok(Done { done: page.done, skipped: page.skipped, more: page.next.is_some() })
}
