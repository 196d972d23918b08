//! What can be done from a page. `POST /actions/VERB` counts, says what will happen and asks; sent again with the count that it
//! was told (`expect`), it acts, unless the count has moved meanwhile: then nothing is done, and it asks again.

mod of_causes;
mod of_matches;
mod of_tasks;
mod of_things;

use askama::Template;
use axum::Form;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};
use kinfolk_core::operate::Action;

use super::address::Address;
use super::frame::Frame;
use super::part::words;
use super::{error, render};
use crate::problem::Problem;
use crate::visit::Visit;

/// What a form has sent.
pub(crate) struct Sent(Vec<(String, String)>);

/// What an action would do.
pub(crate) struct Plan {
    /// The question.
    title: String,
    /// What happens to how many.
    lines: Vec<(String, String)>,
    /// The words on the button.
    button: String,
    /// Whether it can't be undone.
    danger: bool,
    /// How many it concerns.
    count: u64,
    /// Fields to be filled in before it is done.
    inputs: Vec<Input>,
}

/// A field of the question.
pub(crate) struct Input {
    name: &'static str,
    label: String,
    value: String,
    is_text: bool,
}

#[derive(Template)]
#[template(path = "ask.html")]
struct Page {
    frame: Frame,
    action: String,
    fields: Vec<(String, String)>,
    plan: Plan,
    moved: bool,
    back: String,
    clock: String,
}

/// `POST /actions/{verb}`
pub(crate) async fn post(visit: Visit, Path(verb): Path<String>, form: Form<Vec<(String, String)>>) -> Response {
    let sent = Sent(form.0);
    match act(&visit, &verb, &sent).await {
        Ok(answer) => answer,
        Err(problem) => error::page(&visit, &problem),
    }
}

async fn act(visit: &Visit, verb: &str, sent: &Sent) -> Result<Response, Problem> {
    let sort = Sort::of(verb, sent).ok_or_else(|| Problem::not_found("action", verb))?;
    let plan = match sort {
        Sort::Matches(action) => of_matches::plan(visit, action, sent).await?,
        Sort::Cause => of_causes::plan(visit, sent).await?,
        Sort::Tasks => of_tasks::plan(visit, verb, sent).await?,
        Sort::Things => of_things::plan(visit, verb, sent).await?,
    };
    let expected = sent.get("expect").and_then(|count| count.parse::<u64>().ok());
    if plan.count == 0 || expected != Some(plan.count) {
        return ask(visit, verb, sent, plan, expected.is_some()).await;
    }
    let done = match sort {
        Sort::Matches(action) => of_matches::act(visit, action, sent, plan.count).await?,
        Sort::Cause => of_causes::act(visit, sent).await?,
        Sort::Tasks => Done { done: of_tasks::act(visit, verb, sent).await?, ..Done::default() },
        Sort::Things => Done { done: of_things::act(visit, verb, sent).await?, ..Done::default() },
    };
    let said = format!("{verb}:{}:{}:{}", done.done, done.skipped, u8::from(done.more));
    let to = Address::at(&back(visit, sent)).with("done", Some(&said));
    Ok((StatusCode::SEE_OTHER, Redirect::to(&to)).into_response())
}

/// What an action is done to.
enum Sort {
    /// Tasks that the form names.
    Tasks,
    /// All tasks that match a filter.
    Matches(Action),
    /// All that failed for one cause.
    Cause,
    /// A queue, a schedule or a group.
    Things,
}

impl Sort {
    fn of(verb: &str, sent: &Sent) -> Option<Self> {
        if sent.get("filter").is_some() {
            return verb.replace('-', "_").parse().ok().map(Self::Matches);
        }
        match verb {
            "cancel" | "retry" | "retry-family" | "run-now" | "signal" => Some(Self::Tasks),
            "retry-cause" => Some(Self::Cause),
            "pause-queue" | "resume-queue" | "pause-schedule" | "resume-schedule" | "run-schedule" | "set-limit" => {
                Some(Self::Things)
            }
            _ => None,
        }
    }
}

/// What came of an action.
#[derive(Clone, Copy, Debug, Default)]
struct Done {
    /// To how many tasks it was done.
    done: u64,
    /// How many stayed as they were.
    skipped: u64,
    /// The time was up before all were done.
    more: bool,
}

async fn ask(visit: &Visit, verb: &str, sent: &Sent, plan: Plan, moved: bool) -> Result<Response, Problem> {
    let frame = Frame::of(visit, "", plan.title.clone()).await?;
    let inputs: Vec<&str> = plan.inputs.iter().map(|input| input.name).collect();
    let keep = |(name, _): &&(String, String)| name != "expect" && !inputs.contains(&name.as_str());
    let page = Page {
        action: visit.links.to(&format!("/actions/{verb}")),
        fields: sent.0.iter().filter(keep).cloned().collect(),
        back: back(visit, sent),
        clock: frame.clock(),
        moved,
        plan,
        frame,
    };
    render(&page)
}

impl Sent {
    fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(given, _)| given == name).map(|(_, value)| value.as_str())
    }

    fn need(&self, name: &str) -> Result<&str, Problem> {
        self.get(name).ok_or_else(|| Problem::input(format!("the form has no field {name}")))
    }

    fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter(move |(given, _)| given == name).map(|(_, value)| value.as_str())
    }
}

/// Where one goes back to: a page of this application, whatever the form says.
fn back(visit: &Visit, sent: &Sent) -> String {
    let start = visit.links.to("/");
    let given = sent.get("back").unwrap_or_default();
    let is_ours = given.starts_with(&start) && !given.starts_with("//") && !given.contains(['\\', '\r', '\n']);
    if is_ours { given.to_owned() } else { start }
}

/// What the address says was just done. Its words are ours, whatever the address says.
pub(crate) fn done(address: &Address) -> Option<String> {
    let mut parts = address.done()?.split(':');
    let verb = parts.next()?;
    let mut number = || parts.next().map(|number| number.parse::<u64>().ok()).unwrap_or(Some(0));
    let (count, skipped, more) = (number()?, number()?, number()?);
    let mut said = done_words(verb, count)?;
    if skipped > 0 {
        said.push_str(&format!(" {}.", words::many(skipped, "stays as it is", "stay as they are")));
    }
    if more > 0 {
        said.push_str(" There are more: ask for it once more.");
    }
    Some(said)
}

fn done_words(verb: &str, count: u64) -> Option<String> {
    Some(match verb {
        "cancel" => format!(
            "{}.",
            words::many(count, "task is cancelled, or asked to stop", "tasks are cancelled, or asked to stop")
        ),
        "retry" | "retry-family" | "retry-cause" => {
            format!("{}.", words::many(count, "task runs again", "tasks run again"))
        }
        "run-now" => format!("{}.", words::many(count, "task is due now", "tasks are due now")),
        "delete" => format!("{}.", words::many(count, "task is gone", "tasks are gone")),
        "run-schedule" => "A task of the schedule is enqueued.".to_owned(),
        "signal" => "The signal was sent.".to_owned(),
        "pause-queue" => "Queue paused. Running tasks go on.".to_owned(),
        "resume-queue" => "Queue resumed.".to_owned(),
        "pause-schedule" => "Schedule paused.".to_owned(),
        "resume-schedule" => "Schedule resumed.".to_owned(),
        "set-limit" => "Limit set. Running tasks go on.".to_owned(),
        _ => return None,
    })
}
