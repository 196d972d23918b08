//! Retrying all that failed for one cause.

use kinfolk_core::inspect::Filter;
use kinfolk_core::operate::Action;
use kinfolk_core::{CommandName, Task, TaskId, Timestamp};

use super::{Done, Plan, Sent};
use crate::pages::failures::of_cause::{self, Wanted};
use crate::pages::part::words;
use crate::problem::Problem;
use crate::visit::Visit;

/// Tasks that one press retries at most: each is a transaction of its own, and a request has its time.
const MOST: usize = 1_000;

async fn tasks(visit: &Visit, sent: &Sent) -> Result<Vec<Task>, Problem> {
    let moment = |name: &str| -> Result<Timestamp, Problem> {
        let text = sent.need(name)?;
        let micros =
            text.parse().map_err(|_| Problem::input(format!("{name} is {text:?}, no moment in microseconds")))?;
        Ok(Timestamp::from_micros(micros))
    };
    let wanted = Wanted {
        command: CommandName::new(sent.need("command")?)?,
        kind: sent.need("kind")?.parse()?,
        text: sent.need("text")?,
        since: moment("since")?,
        until: moment("until")?,
    };
    of_cause::tasks(visit, &wanted, MOST).await
}

/// What the action would do.
pub(super) async fn plan(visit: &Visit, sent: &Sent) -> Result<Plan, Problem> {
    let count = tasks(visit, sent).await?.len() as u64;
    let many = words::many(count, "task", "tasks");
    let says = words::short(sent.need("text")?, 80);
    let mut lines = vec![
        (words::count(count), format!("of {} failed with “{says}”", sent.need("command")?)),
        (String::new(), "Each that can run again does, with fresh attempts. In a family that has ended, what failed there runs again.".to_owned()),
        (String::new(), "What has failed since the page was drawn is not touched.".to_owned()),
        (String::new(), "Those that their family went on without stay as they are.".to_owned()),
    ];
    if count == MOST as u64 {
        lines.push((String::new(), "These are the newest. Older ones are there to be asked for again.".to_owned()));
    }
    Ok(Plan {
        title: format!("Retry {}?", if count == 1 { "this task".to_owned() } else { format!("these {many}") }),
        lines,
        button: format!("Retry {many}"),
        danger: false,
        count,
        inputs: Vec::new(),
    })
}

/// Does it, one task after the other.
pub(super) async fn act(visit: &Visit, sent: &Sent) -> Result<Done, Problem> {
    let mut sum = Done::default();
    for task in tasks(visit, sent).await? {
        let one = Filter {
            queue: Some(task.queue),
            after: Some(TaskId(task.id.0 - 1)),
            before: Some(TaskId(task.id.0 + 1)),
            ..Filter::default()
        };
        let page = visit.act().bulk(Action::Retry, &one, None).await?;
        sum.done += page.done;
        sum.skipped += page.skipped;
    }
    Ok(sum)
}
