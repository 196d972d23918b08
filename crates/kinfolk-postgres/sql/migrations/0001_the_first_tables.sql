-- The first version of the tables.

-- The words of a task's life. Their order is the order of that life.

create type kinfolk.state as enum ('pending', 'running', 'waiting', 'completed', 'failed', 'cancelled');

create type kinfolk.gate as enum ('open', 'time', 'limit', 'after');

-- How long a unique key is held. A task that has given its key up has none.
create type kinfolk.unique_scope as enum ('pending', 'active', 'window');

create type kinfolk.on_duplicate as enum ('keep', 'replace', 'merge');

-- What was done to this schema, and when. Its highest version is the version of the schema.

create table kinfolk.migration (
    version integer primary key,
    name text not null,
    migrated_at timestamptz not null default clock_timestamp()
);

-- Where tasks wait. `keep_*_us`: how long finished tasks are kept, in microseconds; null keeps them for good.

create table kinfolk.queue (
    id integer generated always as identity primary key,
    name text collate "C" not null unique,
    paused_at timestamptz,
    keep_completed_us bigint default 604800000000,
    keep_failed_us bigint default 2592000000000,
    keep_cancelled_us bigint default 604800000000
);

-- What tasks run, with its defaults. The backoff is read here when an attempt fails; all else is copied at the enqueue.

create table kinfolk.command (
    id integer generated always as identity primary key,
    name text collate "C" not null unique,
    queue_id integer not null references kinfolk.queue,
    priority integer not null,
    max_attempts smallint not null,
    backoff_base_ms bigint not null,
    backoff_cap_ms bigint not null,
    jitter_pct smallint not null,
    timeout_us bigint
);

-- Processes that run tasks. `steady_since`: since when the lease was renewed without a gap.

create table kinfolk.worker (
    id uuid primary key,
    name text not null,
    queues text[] not null,
    commands text[] not null,
    started_at timestamptz not null,
    renewed_at timestamptz not null,
    lease_us bigint not null,
    lease_until timestamptz not null,
    steady_since timestamptz not null
) with (fillfactor = 50);

-- Which worker claims from which queue, and whether its last claim there left it with room to spare. Claims keep it;
-- an enqueue looks here to see whether anybody sleeps.
create table kinfolk.worker_queue (
    queue_id integer not null references kinfolk.queue on delete cascade,
    worker_id uuid not null references kinfolk.worker on delete cascade,
    idle boolean not null,
    primary key (queue_id, worker_id)
) with (fillfactor = 50);

create index worker_queue_worker on kinfolk.worker_queue (worker_id);

-- One row for each task, updated in place.
--
-- A claim reads `task_ready` and, where there are suspects, `task_suspect`; it opens what is due by `task_due`. Finished
-- tasks, scheduled ones and those of other commands are in none of the ranges it reads.
-- `runs` counts claims and never goes back; `attempt` counts the attempts that cost one.
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
    payload jsonb not null,
    result jsonb,
    failure jsonb
) with (toast_tuple_target = 256);

create index task_ready on kinfolk.task (queue_id, command_id, priority, place, id)
    where state = 'pending' and gate = 'open' and not suspect;

create index task_suspect on kinfolk.task (queue_id, command_id, priority, place, id)
    where state = 'pending' and gate = 'open' and suspect;

create index task_due on kinfolk.task (queue_id, due, id) where gate = 'time';

create index task_running on kinfolk.task (worker_id, id) where state = 'running';

create index task_finished on kinfolk.task (queue_id, state, finished_at, id) where finished_at is not null;

create index task_unique on kinfolk.task (unique_key, command_id, id) where unique_key is not null;

-- Ended attempts. A task that was completed by its first run has none: its own row says it all.

create table kinfolk.attempt (
    task_id bigint not null,
    run integer not null,
    attempt smallint not null,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    worker_id uuid not null,
    ending text not null,
    failure jsonb,
    primary key (task_id, run)
);

-- Payloads that were enqueued under a unique key that another task holds, to be laid into that task when it starts.
-- Rows are only ever inserted by an enqueue, so that it never waits for, and never holds up, a claim or another enqueue.
-- `id` is the number the newcomer would have had as a task: a repeated enqueue finds its own row.

create table kinfolk.duplicate (
    id bigint primary key,
    arrival bigint generated always as identity,
    task_id bigint not null,
    on_duplicate kinfolk.on_duplicate not null,
    payload jsonb not null
);

create index duplicate_task on kinfolk.duplicate (task_id, arrival);

-- Tasks that gave up their key to a claim or a cancel while an enqueue that saw it held may not have committed yet.
-- `horizon`: when every transaction below it has ended, no such enqueue is left. Null: not known yet.
create table kinfolk.late (
    queue_id integer not null,
    task_id bigint not null,
    horizon xid8
);

create index late_queue on kinfolk.late (queue_id);
