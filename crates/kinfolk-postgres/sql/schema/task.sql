-- One row for each task, updated in place.
--
-- A claim reads `task_ready` and, where there are suspects, `task_suspect`; it opens what is due by `task_due`. Finished
-- tasks, scheduled ones and those of other commands are in none of the ranges it reads.
-- `runs` counts claims and never goes back; `attempt` counts the attempts that cost one.
-- `payload` is null where it is kept in `body`.
-- `unique_held` ends when the key is given up for good; `unique_key` stays, for those who look.

create sequence kinfolk.task_id as bigint cache 1;

create table kinfolk.task (
    id bigint primary key,
    queue_id integer not null,
    command_id integer not null,
    state kinfolk.state not null,
    gate kinfolk.gate,
    priority integer not null,
    runs integer not null default 0,
    attempt smallint not null default 0,
    max_attempts smallint not null,
    strikes smallint not null default 0,
    suspect boolean not null default false,
    unique_held boolean not null default false,
    unique_scope kinfolk.unique_scope,
    on_duplicate kinfolk.on_duplicate,
    place timestamptz not null,
    due timestamptz not null,
    created_at timestamptz not null,
    started_at timestamptz,
    finished_at timestamptz,
    cancel_requested_at timestamptz,
    timeout_us bigint,
    unique_window_us bigint,
    token uuid,
    worker_id uuid,
    unique_key text collate "C",
    trace text,
    payload jsonb,
    result jsonb,
    failure jsonb
) with (fillfactor = 70);

create index task_ready on kinfolk.task (queue_id, command_id, priority, place, id)
    where state = 'pending' and gate = 'open' and not suspect;

create index task_suspect on kinfolk.task (queue_id, command_id, priority, place, id)
    where state = 'pending' and gate = 'open' and suspect;

create index task_due on kinfolk.task (queue_id, due, id) where gate = 'time';

create index task_running on kinfolk.task (worker_id, id) where state = 'running';

create index task_finished on kinfolk.task (queue_id, state, finished_at, id) where finished_at is not null;

create index task_unique on kinfolk.task (unique_key, command_id, id) where unique_key is not null;
