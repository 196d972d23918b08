//! The same done to many tasks, which a filter names: `kinfolk cancel`, `retry`, `run-now` and `delete` with a filter instead of
//! numbers. It goes on page by page; one that is stopped in between has done what it said, and can be begun again.

use kinfolk_core::cause::id_of;
use kinfolk_core::filter::{Filter, Matches, Order};
use kinfolk_core::limits::PAGE_MAX;
use kinfolk_core::operate::Action;
use kinfolk_core::{State, StoreError, Task, TaskId};
use serde_json::json;

use super::each;
use super::filter_options::FilterOptions;
use crate::fault::Fault;
use crate::out::view::TaskView;
use crate::out::words;
use crate::session::Session;

/// The options that do not go with numbers: the options of a filter, all tasks, and the question how many they are.
pub(crate) const BY_FILTER: [&str; 3] = ["FilterOptions", "all", "dry_run"];
/// Tasks in one transaction.
const PAGE: usize = 100;

/// Which tasks, if not by their numbers.
#[derive(clap::Args, Debug)]
pub(crate) struct BulkOptions {
    #[command(flatten)]
    which: FilterOptions,

    /// All tasks to which it can be done, without a filter
    #[arg(long)]
    all: bool,

    /// Say how many tasks it would be done to, and do nothing
    #[arg(long)]
    dry_run: bool,
}

/// `kinfolk run-now` and `kinfolk delete`
#[derive(clap::Args, Debug)]
pub(crate) struct Args {
    /// Their numbers
    #[arg(value_name = "ID", conflicts_with_all = BY_FILTER)]
    ids: Vec<TaskId>,

    #[command(flatten)]
    bulk: BulkOptions,
}

/// Runs `kinfolk run-now`.
pub(crate) async fn run_now(args: Args, session: &Session) -> Result<(), Fault> {
    if args.ids.is_empty() {
        return run(Action::RunNow, &args.bulk, session).await;
    }
    let store = session.open().await?;
    let (store, out) = (store.as_ref(), session.out);
    each(&args.ids, session, |id| async move {
        let task = store.run_now(id).await?;
        out.say(&TaskView::new(&task), format!("task {id} may run now"))
    })
    .await
}

/// Runs `kinfolk delete`.
pub(crate) async fn delete(args: Args, session: &Session) -> Result<(), Fault> {
    if args.ids.is_empty() {
        return run(Action::Delete, &args.bulk, session).await;
    }
    let store = session.open().await?;
    let (store, out) = (store.as_ref(), session.out);
    each(&args.ids, session, |id| async move {
        let task = store.task(id).await?.ok_or_else(|| StoreError::not_found("task", id))?;
        if task.parent.is_some() || !task.state.is_terminal() {
            let why =
                format!("task {id} is {}; only roots that have ended are deleted, with their families", task.state);
            return Err(Fault::no("not_ended", why));
        }
        let mut filter = Filter { limit: 1, ..only(id) };
        let mut gone = 0;
        loop {
            let page = store.bulk(Action::Delete, &filter).await?;
            gone += page.done;
            match page.next {
                Some(next) => filter.after = Some(next),
                None => break,
            }
        }
        out.say(&json!({"task": id, "deleted": gone}), format!("task {id} deleted, with its family: {gone} in all"))
    })
    .await
}

/// Does it to all that match.
pub(crate) async fn run(action: Action, options: &BulkOptions, session: &Session) -> Result<(), Fault> {
    if options.which == FilterOptions::default() && !options.all {
        let how =
            "name tasks by number, or by a filter such as `--state failed --command NAME`; `--all` means all of them";
        return Err(Fault::input(how));
    }
    let store = session.open().await?;
    let filter = options.which.filter(store.as_ref()).await?;
    let word = action.as_str();
    if options.dry_run {
        let matches = match action.narrowed(&filter) {
            Some(narrowed) => store.count(&narrowed).await?,
            None => Matches::default(),
        };
        let said = json!({"action": word, "tasks": matches.tasks, "more": matches.more, "dry_run": true});
        return session
            .out
            .say(&said, format!("{} would be done to {}", word.replace('_', " "), words::matches(&matches)));
    }
    let mut filter = Filter { limit: PAGE, ..filter };
    let (mut done, mut skipped) = (0, 0);
    loop {
        let page = store.bulk(action, &filter).await?;
        (done, skipped) = (done + page.done, skipped + page.skipped);
        match page.next {
            Some(next) => filter.after = Some(next),
            None => break,
        }
    }
    said(action, done, skipped, session)
}

/// Lets what failed by one cause run again: among what the filter finds, the tasks that say so.
pub(crate) async fn retry_cause(cause: &str, options: &BulkOptions, session: &Session) -> Result<(), Fault> {
    let store = session.open().await?;
    let filter = options.which.filter(store.as_ref()).await?;
    let mut filter = Filter { state: vec![State::Failed], order: Order::Oldest, limit: PAGE_MAX, ..filter };
    let (mut found, mut done, mut skipped) = (0, 0, 0);
    loop {
        let page = store.list(&filter).await?;
        for task in page.tasks.iter().filter(|task| failed_by(task, cause)) {
            found += 1;
            if !options.dry_run {
                let one = Filter { limit: 1, ..only(task.id) };
                let page = store.bulk(Action::Retry, &one).await?;
                (done, skipped) = (done + page.done, skipped + page.skipped);
            }
        }
        let Some(next) = page.next else { break };
        filter = filter.next_page(next);
    }
    if found == 0 {
        return Err(
            StoreError::not_found("failed task with the cause", format!("{cause}; see `kinfolk failures`")).into()
        );
    }
    if options.dry_run {
        let said = json!({"action": "retry", "tasks": found, "more": false, "dry_run": true});
        return session.out.say(&said, format!("retry would be done to {found} tasks"));
    }
    said(Action::Retry, done, skipped, session)
}

fn failed_by(task: &Task, cause: &str) -> bool {
    task.failure.as_ref().is_some_and(|failure| id_of(&task.command, failure.kind, &failure.message) == cause)
}

/// One task, by its number.
fn only(id: TaskId) -> Filter {
    Filter { after: Some(TaskId(id.0 - 1)), before: Some(TaskId(id.0 + 1)), ..Filter::default() }
}

fn said(action: Action, done: u64, skipped: u64, session: &Session) -> Result<(), Fault> {
    let word = action.as_str();
    let words = match skipped {
        0 => format!("{}: {done} tasks", word.replace('_', " ")),
        _ => format!("{}: {done} tasks; {skipped} skipped: their state did not allow it", word.replace('_', " ")),
    };
    session.out.say(&json!({"action": word, "done": done, "skipped": skipped}), words)
}
