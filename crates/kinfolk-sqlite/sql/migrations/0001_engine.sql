-- 0001_engine: everything the engine keeps.
-- Times and spans are whole microseconds. Ids of workers and tokens are 16 bytes.

-- One row about the file itself, written once per commit that changes anything.
create table store (
    id        integer primary key,
    clock     integer not null, -- the highest time ever stored; the clock never goes below it
    last_task integer not null, -- the highest task number ever given out; numbers are never reused
    catalogue integer not null, -- grows when a command or a queue changes
    cancels   integer not null, -- grows when the end of a running task is asked for
    constraint only_one_row check (id = 1)
) strict;

insert into store (id, clock, last_task, catalogue, cancels)
values (1, 0, 0, 1, 0);

create table queue (
    id             integer primary key,
    name           text    not null unique,
    paused_at      integer,
    keep_completed integer, -- retention; null keeps for good
    keep_failed    integer,
    keep_cancelled integer,
    wakes          integer not null default 0, -- grows when there may be something to claim
    waker          integer not null default 0  -- which open store made it grow last
) strict;

create table command (
    id           integer primary key,
    name         text    not null unique,
    queue_id     integer not null references queue (id),
    priority     integer not null,
    max_attempts integer not null,
    base_ms      integer not null,
    cap_ms       integer not null,
    jitter_pct   integer not null,
    timeout      integer
) strict;

create table task (
    id                  integer primary key, -- given out by the store's row
    command_id          integer not null references command (id),
    queue_id            integer not null references queue (id),
    state               text    not null,
    gate                text,
    priority            integer not null,
    due                 integer not null,
    place               integer not null,
    attempt             integer not null default 0,
    max_attempts        integer not null,
    runs                integer not null default 0, -- claims in all
    suspect             integer not null default 0,
    strikes             integer not null default 0,
    timeout             integer,
    created_at          integer not null,
    started_at          integer,
    finished_at         integer,
    cancel_requested_at integer,
    worker              blob,
    token               blob,
    unique_key          text,
    unique_scope        text,
    key_until           integer, -- until when the key is held: 0 is given up
    failure             text,
    trace               text,
    result              text,
    payload             text, -- null when it is large: then it lies in large_payload
    -- Written without lists: SQLite would build a scratch table for each list at each write.
    constraint known_state check (
        state = 'pending' or state = 'running' or state = 'waiting'
        or state = 'completed' or state = 'failed' or state = 'cancelled'
    ),
    constraint known_gate check (gate is null or gate = 'open' or gate = 'time' or gate = 'limit' or gate = 'after'),
    constraint pending_iff_gate check ((state = 'pending') = (gate is not null)),
    constraint running_iff_worker check ((state = 'running') = (worker is not null)),
    constraint terminal_iff_finished check (
        (state = 'completed' or state = 'failed' or state = 'cancelled') = (finished_at is not null)
    ),
    constraint key_has_scope check ((unique_key is null) = (unique_scope is null))
) strict;

-- What a claim reads, command by command; the number of a task ends every index by itself.
create index task_ready_idx on task (queue_id, command_id, priority, place)
where gate = 'open' and suspect = 0;

-- Suspects stand apart: a claim takes one of them at most.
create index task_suspect_idx on task (queue_id, command_id, priority, place)
where gate = 'open' and suspect = 1;

-- What becomes due.
create index task_due_idx on task (queue_id, due, id, command_id)
where gate = 'time';

-- What a worker has, its suspects apart.
create index task_running_idx on task (worker, suspect)
where worker is not null;

-- What runs and should end.
create index task_cancel_idx on task (worker)
where worker is not null and cancel_requested_at is not null;

-- What retention removes, and what is counted.
create index task_finished_idx on task (queue_id, state, finished_at, id, command_id)
where finished_at is not null;

-- Who holds or has held a key.
create index task_key_idx on task (unique_key, command_id, key_until)
where unique_key is not null;

-- Payloads too large to be copied each time their task changes. Written once, read by whoever shows or runs the task.
create table large_payload (
    task_id integer primary key references task (id),
    payload text    not null
) strict;

create table attempt (
    task_id    integer not null references task (id),
    run        integer not null,
    attempt    integer not null,
    started_at integer not null,
    ended_at   integer not null,
    worker     blob    not null,
    ending     text    not null,
    failure    text,
    primary key (task_id, run)
) strict, without rowid;

create table worker (
    id           blob    not null primary key,
    name         text    not null,
    queues       text    not null, -- JSON array of names
    commands     text    not null, -- JSON array of names
    lease        integer not null,
    started_at   integer not null,
    lease_until  integer not null,
    steady_since integer not null  -- since when it has renewed without a gap
) strict, without rowid;

create table schedule (
    name      text    not null primary key,
    cron      text    not null,
    zone      text    not null,
    task      text    not null, -- what is enqueued, as JSON
    missed    text    not null,
    overlap   text    not null,
    paused    integer not null,
    next_at   integer,
    last_at   integer,
    last_task integer
) strict, without rowid;

create index schedule_due_idx on schedule (next_at, name)
where paused = 0 and next_at is not null;
