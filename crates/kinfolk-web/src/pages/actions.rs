//! What can be done from a page. `POST /actions/VERB` counts, says what will happen and asks; sent again with the count that it
//! was told (`expect`), it acts, unless the count has moved meanwhile: then nothing is done, and it asks again.

mod of_tasks;
mod of_things;

use askama::Template;
use axum::Form;
use axum::extract::Path;
use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Redirect, Response};

use super::frame::Frame;
use super::part::words;
use super::place::Place;
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
    let plan = match verb {
        "cancel" | "retry" | "retry-family" | "run-now" | "signal" => of_tasks::plan(visit, verb, sent).await?,
        "pause-queue" | "resume-queue" | "pause-schedule" | "resume-schedule" | "set-limit" => {
            of_things::plan(visit, verb, sent).await?
        }
        _ => return Err(Problem::not_found("action", verb)),
    };
    let expected = sent.get("expect").and_then(|count| count.parse::<u64>().ok());
    if plan.count == 0 || expected != Some(plan.count) {
        return ask(visit, verb, sent, plan, expected.is_some()).await;
    }
    let done = match verb {
        "cancel" | "retry" | "retry-family" | "run-now" | "signal" => of_tasks::act(visit, verb, sent).await?,
        _ => of_things::act(visit, verb, sent).await?,
    };
    let to = Place::at(&back(visit, sent)).with("done", Some(&format!("{verb}:{done}")));
    Ok((StatusCode::SEE_OTHER, Redirect::to(&to)).into_response())
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
pub(crate) fn done(place: &Place) -> Option<String> {
    let (verb, count) = place.done()?.split_once(':')?;
    let count: u64 = count.parse().ok()?;
    Some(match verb {
        "cancel" => format!(
            "{}.",
            words::many(count, "task is cancelled, or asked to stop", "tasks are cancelled, or asked to stop")
        ),
        "retry" | "retry-family" => format!("{}.", words::many(count, "task runs again", "tasks run again")),
        "run-now" => format!("{}.", words::many(count, "task is due now", "tasks are due now")),
        "signal" => "The signal was sent.".to_owned(),
        "pause-queue" => "The queue is paused. What runs goes on.".to_owned(),
        "resume-queue" => "The queue is taken from again.".to_owned(),
        "pause-schedule" => "The schedule is paused.".to_owned(),
        "resume-schedule" => "The schedule is armed again.".to_owned(),
        "set-limit" => "The limit is set. Nothing that runs is interrupted.".to_owned(),
        _ => return None,
    })
}
