//! Queues, commands, workers, groups and keys, schedules, statuses and counts.

use axum::Json;
use axum::http::StatusCode;
use jiff::tz::TimeZone;
use kinfolk_core::{CommandName, GroupName, GroupRef, KeyFilter, QueueName, ScheduleName};
use serde::{Deserialize, Serialize};
use utoipa::{IntoParams, ToSchema};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use super::extract::{Body, Named, Query, page_size, words};
use super::form::{
    CommandForm, FindingForm, GroupForm, KeyForm, QueueForm, ScheduleForm, SettingForm, StatsForm, StatusForm,
    TickForm, WorkerForm,
};
use crate::app::Shared;
use crate::problem::Problem;
use crate::visit::Visit;

pub(super) fn routes() -> OpenApiRouter<Shared> {
    OpenApiRouter::new()
        .routes(routes!(stats))
        .routes(routes!(queues))
        .routes(routes!(pause))
        .routes(routes!(resume))
        .routes(routes!(commands))
        .routes(routes!(workers))
        .routes(routes!(doctor))
        .routes(routes!(groups))
        .routes(routes!(keys, set_key))
        .routes(routes!(schedules))
        .routes(routes!(ticks))
        .routes(routes!(pause_schedule))
        .routes(routes!(resume_schedule))
        .routes(routes!(statuses))
        .routes(routes!(active))
}

/// Counts of tasks by queue, command and state.
#[utoipa::path(get, path = "/stats", tag = "site", responses((status = 200, body = StatsForm)))]
async fn stats(visit: Visit) -> Result<Json<StatsForm>, Problem> {
    Ok(Json(visit.view().stats().await?.into()))
}

/// All queues, by name.
#[utoipa::path(get, path = "/queues", tag = "site", responses((status = 200, body = Vec<QueueForm>)))]
async fn queues(visit: Visit) -> Result<Json<Vec<QueueForm>>, Problem> {
    Ok(Json(visit.view().queues().await?.into_iter().map(QueueForm::from).collect()))
}

/// Pauses a queue. Running tasks go on.
#[utoipa::path(post, path = "/queues/{name}/pause", tag = "site", params(("name" = String, Path)),
    responses((status = 204)))]
async fn pause(visit: Visit, Named(name): Named<QueueName>) -> Result<StatusCode, Problem> {
    visit.act().pause(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Resumes a queue.
#[utoipa::path(post, path = "/queues/{name}/resume", tag = "site", params(("name" = String, Path)),
    responses((status = 204)))]
async fn resume(visit: Visit, Named(name): Named<QueueName>) -> Result<StatusCode, Problem> {
    visit.act().resume(&name).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// All commands, by name.
#[utoipa::path(get, path = "/commands", tag = "site", responses((status = 200, body = Vec<CommandForm>)))]
async fn commands(visit: Visit) -> Result<Json<Vec<CommandForm>>, Problem> {
    Ok(Json(visit.view().commands().await?.into_iter().map(CommandForm::from).collect()))
}

/// All workers, oldest first.
#[utoipa::path(get, path = "/workers", tag = "site", responses((status = 200, body = Vec<WorkerForm>)))]
async fn workers(visit: Visit) -> Result<Json<Vec<WorkerForm>>, Problem> {
    Ok(Json(visit.view().workers().await?.into_iter().map(WorkerForm::from).collect()))
}

/// The problems around the store, each with its remedy; empty for callers that may see only some queues.
#[utoipa::path(get, path = "/doctor", tag = "site", responses((status = 200, body = Vec<FindingForm>)))]
async fn doctor(visit: Visit) -> Result<Json<Vec<FindingForm>>, Problem> {
    Ok(Json(visit.view().doctor().await?.into_iter().map(FindingForm::from).collect()))
}

/// All groups: the shared ones by name, then those of commands.
#[utoipa::path(get, path = "/groups", tag = "site", responses((status = 200, body = Vec<GroupForm>)))]
async fn groups(visit: Visit) -> Result<Json<Vec<GroupForm>>, Problem> {
    Ok(Json(visit.view().groups().await?.into_iter().map(GroupForm::from).collect()))
}

/// Which keys.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct KeyQuery {
    /// Of this group; with `command` if it is not a shared one.
    group: Option<String>,
    /// The command that the group belongs to.
    command: Option<String>,
    /// Only those that hold something up.
    #[serde(default)]
    blocking: bool,
    /// Only those after this one: `next.group` of the page before.
    after_group: Option<String>,
    /// `next.command` of the page before.
    after_command: Option<String>,
    /// `next.key` of the page before.
    after_key: Option<String>,
    /// At most this many; 50 unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    limit: Option<usize>,
}

fn group_ref(command: Option<&str>, group: &str) -> Result<GroupRef, Problem> {
    let command = command.map(CommandName::new).transpose()?;
    Ok(GroupRef { command, name: GroupName::new(group)? })
}

impl KeyQuery {
    fn filter(&self) -> Result<KeyFilter, Problem> {
        let group = self.group.as_deref().map(|group| group_ref(self.command.as_deref(), group)).transpose()?;
        if group.is_none() && self.command.is_some() {
            return Err(Problem::input("a command without a group; name the group as well"));
        }
        let after = match (&self.after_group, &self.after_key) {
            (Some(group), Some(key)) => Some((group_ref(self.after_command.as_deref(), group)?, key.clone())),
            (None, None) if self.after_command.is_none() => None,
            _ => return Err(Problem::input("after_group and after_key go together; copy both from `next`")),
        };
        Ok(KeyFilter { group, blocking: self.blocking, after, limit: page_size(self.limit)? })
    }
}

/// A page of keys.
#[derive(Serialize, ToSchema)]
struct KeyPage {
    keys: Vec<KeyForm>,
    /// Where the next page goes on.
    next: Option<KeyCursor>,
}

/// The last key of a page.
#[derive(Serialize, ToSchema)]
struct KeyCursor {
    command: Option<String>,
    group: String,
    key: String,
}

/// The keys that are in use: the holders of their slots, and how many tasks wait for one.
#[utoipa::path(get, path = "/keys", tag = "site", params(KeyQuery), responses((status = 200, body = KeyPage)))]
async fn keys(visit: Visit, Query(query): Query<KeyQuery>) -> Result<Json<KeyPage>, Problem> {
    let filter = query.filter()?;
    let (keys, next) = visit.view().key_page(&filter).await?;
    let next = next.map(|(group, key)| KeyCursor {
        command: group.command.map(|command| command.to_string()),
        group: group.name.to_string(),
        key,
    });
    Ok(Json(KeyPage { keys: keys.into_iter().map(KeyForm::from).collect(), next }))
}

/// The new setting of a group, or of one key of it.
#[derive(Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct SetKey {
    /// The command that the group belongs to; null for a shared one.
    #[serde(default)]
    command: Option<String>,
    group: String,
    /// Only for this key; null is for all.
    #[serde(default)]
    key: Option<String>,
    /// An empty one goes back to what is declared.
    setting: SettingForm,
}

/// Changes what a group, or one key of it, allows, from now on. Nothing that runs is interrupted.
#[utoipa::path(put, path = "/keys", tag = "site", request_body = SetKey, responses((status = 204)))]
async fn set_key(visit: Visit, Body(form): Body<SetKey>) -> Result<StatusCode, Problem> {
    let group = group_ref(form.command.as_deref(), &form.group)?;
    visit.act().set_group(&group, form.key.as_deref(), &form.setting.into()).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// All schedules, by name.
#[utoipa::path(get, path = "/schedules", tag = "site", responses((status = 200, body = Vec<ScheduleForm>)))]
async fn schedules(visit: Visit) -> Result<Json<Vec<ScheduleForm>>, Problem> {
    Ok(Json(visit.view().schedules().await?.into_iter().map(ScheduleForm::from).collect()))
}

/// How many ticks.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
struct TickQuery {
    /// Ten unless said otherwise.
    #[param(minimum = 1, maximum = 1000)]
    count: Option<usize>,
}

/// The next ticks of a schedule.
#[utoipa::path(get, path = "/schedules/{name}/ticks", tag = "site", params(("name" = String, Path), TickQuery),
    responses((status = 200, body = Vec<TickForm>)))]
async fn ticks(
    visit: Visit,
    Named(name): Named<ScheduleName>,
    Query(query): Query<TickQuery>,
) -> Result<Json<Vec<TickForm>>, Problem> {
    let schedules = visit.view().schedules().await?;
    let schedule = schedules.into_iter().find(|schedule| schedule.name == name);
    let schedule = schedule.ok_or_else(|| Problem::not_found("schedule", &name))?;
    let zone = TimeZone::get(&schedule.zone).unwrap_or(TimeZone::UTC);
    let mut from = visit.view().now().await?;
    let mut ticks = Vec::new();
    for _ in 0..page_size(Some(query.count.unwrap_or(10)))? {
        let Some(tick_at) = schedule.tick_after(from)? else { break };
        let local = tick_at.to_jiff().to_zoned(zone.clone()).strftime("%a %Y-%m-%d %H:%M:%S %Z").to_string();
        ticks.push(TickForm { tick_at, local });
        from = tick_at;
    }
    Ok(Json(ticks))
}

/// Switches a schedule off.
#[utoipa::path(post, path = "/schedules/{name}/pause", tag = "site", params(("name" = String, Path)),
    responses((status = 204)))]
async fn pause_schedule(visit: Visit, Named(name): Named<ScheduleName>) -> Result<StatusCode, Problem> {
    visit.act().pause_schedule(&name, true).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// Switches a schedule on again. Ticks that passed meanwhile are not missed: it is armed anew.
#[utoipa::path(post, path = "/schedules/{name}/resume", tag = "site", params(("name" = String, Path)),
    responses((status = 204)))]
async fn resume_schedule(visit: Visit, Named(name): Named<ScheduleName>) -> Result<StatusCode, Problem> {
    visit.act().pause_schedule(&name, false).await?;
    Ok(StatusCode::NO_CONTENT)
}

/// All statuses, by name, as they were last looked at.
#[utoipa::path(get, path = "/statuses", tag = "site", responses((status = 200, body = Vec<StatusForm>)))]
async fn statuses(visit: Visit) -> Result<Json<Vec<StatusForm>>, Problem> {
    Ok(Json(visit.view().statuses().await?.into_iter().map(StatusForm::from).collect()))
}

/// Which commands.
#[derive(Deserialize, IntoParams)]
#[serde(deny_unknown_fields)]
#[into_params(parameter_in = Query)]
pub(crate) struct ActiveQuery {
    /// These: `derive_units,derive_reports`.
    #[param(value_type = Vec<String>, style = Form, explode = false)]
    pub(crate) commands: String,
}

impl ActiveQuery {
    pub(crate) fn commands(&self) -> Result<Vec<CommandName>, Problem> {
        words(&self.commands)
    }
}

/// Whether a task of some commands is at work, or ready to be.
#[derive(Serialize, ToSchema)]
struct Active {
    active: bool,
}

/// Whether a task of one of these commands is at work, or ready to be.
#[utoipa::path(get, path = "/active", tag = "site", params(ActiveQuery), responses((status = 200, body = Active)))]
async fn active(visit: Visit, Query(query): Query<ActiveQuery>) -> Result<Json<Active>, Problem> {
    Ok(Json(Active { active: visit.view().is_active(&query.commands()?).await? }))
}
