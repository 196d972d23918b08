//! Groups and keys as they are, and why a task is not running.

use kinfolk_core::store::Answer;
use kinfolk_core::{
    CommandName, Explanation, GroupName, GroupRef, GroupView, KeyFilter, KeyView, Reason, StoreError, TaskId, WorkerId,
};
use tokio_postgres::Row;
use tokio_postgres::types::Type;

use crate::call::Param;
use crate::operate::of_task;
use crate::rows::{self, get};
use crate::store::PgStore;
use crate::values::JsonOut;

const EXPLAIN: &str =
    "select state, seen_at, worker, detail || jsonb_build_object('reason', reason) from kinfolk.explain($1)";
const GROUPS: &str = "select name, command, commands, declared, set, keys from kinfolk.groups()";
const KEYS: &str =
    "select name, owner, key, slots, held, holders, waiters, until from kinfolk.keys($1, $2, $3, $4, $5, $6, $7)";

impl PgStore {
    pub(crate) async fn read_explanation(&self, task: TaskId) -> Answer<Explanation> {
        let rows = self.look(EXPLAIN, &[(&task.0, Type::INT8)]).await.map_err(|fault| of_task(fault, task))?;
        let first = rows.first().ok_or_else(|| StoreError::not_found("task", task))?;
        let reasons: Vec<Option<Reason>> = rows.iter().map(|row| maybe_read(row, 3)).collect::<Answer<_>>()?;
        Ok(Explanation {
            task,
            state: get::<&str>(first, 0)?.parse()?,
            now: rows::moment(first, 1)?,
            worker: get::<Option<_>>(first, 2)?.map(WorkerId),
            reasons: reasons.into_iter().flatten().collect(),
        })
    }

    pub(crate) async fn read_groups(&self) -> Answer<Vec<GroupView>> {
        self.look(GROUPS, &[]).await?.iter().map(group).collect()
    }

    pub(crate) async fn read_keys(&self, filter: &KeyFilter) -> Answer<Vec<KeyView>> {
        let (after, after_key) = match &filter.after {
            Some((group, key)) => (Some(group), Some(key.as_str())),
            None => (None, None),
        };
        let [(name, command), (after_name, after_command)] = [filter.group.as_ref(), after].map(|group| {
            let command = group.and_then(|group| group.command.as_ref()).map(CommandName::as_str);
            (group.map(|group| group.name.as_str()), command)
        });
        let page = i32::try_from(filter.limit).unwrap_or(i32::MAX);
        let params: [Param<'_>; 7] = [
            (&name, Type::TEXT),
            (&command, Type::TEXT),
            (&filter.blocking, Type::BOOL),
            (&after_command, Type::TEXT),
            (&after_name, Type::TEXT),
            (&after_key, Type::TEXT),
            (&page, Type::INT4),
        ];
        self.look(KEYS, &params).await?.iter().map(key).collect()
    }
}

fn group(row: &Row) -> Answer<GroupView> {
    Ok(GroupView {
        group: group_ref(row)?,
        commands: rows::command_names(row, 2)?,
        declared: read(row, 3)?,
        set: read(row, 4)?,
        keys: read(row, 5)?,
    })
}

fn key(row: &Row) -> Answer<KeyView> {
    Ok(KeyView {
        group: group_ref(row)?,
        key: get(row, 2)?,
        limit: rows::maybe_whole(row, 3)?,
        held: rows::count(row, 4)?,
        holders: get::<Vec<i64>>(row, 5)?.into_iter().map(TaskId).collect(),
        waiters: rows::count(row, 6)?,
        until: rows::maybe_moment(row, 7)?,
    })
}

fn group_ref(row: &Row) -> Answer<GroupRef> {
    let command = get::<Option<&str>>(row, 1)?.map(CommandName::new).transpose()?;
    Ok(GroupRef { command, name: GroupName::new(get(row, 0)?)? })
}

fn read<T: serde::de::DeserializeOwned>(row: &Row, index: usize) -> Answer<T> {
    maybe_read(row, index)?.ok_or_else(|| strange("nothing"))
}

fn maybe_read<T: serde::de::DeserializeOwned>(row: &Row, index: usize) -> Answer<Option<T>> {
    let json = get::<Option<JsonOut>>(row, index)?;
    json.map(|json| json.0.to().map_err(|_| strange(json.0.as_str()))).transpose()
}

fn strange(text: &str) -> StoreError {
    StoreError::Fault { code: "row".to_owned(), detail: format!("can't make sense of {text}") }
}
