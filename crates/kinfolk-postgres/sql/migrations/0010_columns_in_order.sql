-- Columns that are never null stand first, by their width, so that they are found without walking over the others: about a
-- twentieth of what the server does for a task. Writes the table anew: nothing can be enqueued or claimed meanwhile.

alter table kinfolk.task rename to task_before;

alter index kinfolk.task_pkey rename to task_before_pkey;

create table kinfolk.task (
    id bigint primary key,
    place timestamptz not null,
    due timestamptz not null,
    created_at timestamptz not null,
    queue_id integer not null,
    command_id integer not null,
    state kinfolk.state not null,
    priority integer not null,
    runs integer not null default 0,
    steps integer not null default 0,
    lane kinfolk.lane not null default 'top',
    attempt smallint not null default 0,
    max_attempts smallint not null,
    strikes smallint not null default 0,
    depth smallint not null default 0,
    bounces smallint not null default 0,
    suspect boolean not null default false,
    unique_held boolean not null default false,
    slot boolean not null default false,
    parked boolean not null default false,
    keyed boolean not null default false,
    worker_id uuid,
    token uuid,
    gate kinfolk.gate,
    started_at timestamptz,
    timeout_us bigint,
    finished_at timestamptz,
    payload jsonb,
    result jsonb,
    unique_scope kinfolk.unique_scope,
    on_duplicate kinfolk.on_duplicate,
    cancel_requested_at timestamptz,
    unique_window_us bigint,
    unique_key text collate "C",
    trace text,
    failure jsonb,
    parent_id bigint,
    root_id bigint,
    fan_out_id bigint,
    nth integer,
    outcome kinfolk.state,
    signals text[] collate "C",
    report jsonb,
    keys jsonb,
    parked_group integer,
    parked_key text collate "C"
) with (fillfactor = 70);

insert into kinfolk.task (
    id, place, due, created_at, queue_id, command_id, state, priority, runs, steps, lane, attempt, max_attempts,
    strikes, depth, bounces, suspect, unique_held, slot, parked, keyed, worker_id, token, gate, started_at,
    timeout_us, finished_at, payload, result, unique_scope, on_duplicate, cancel_requested_at, unique_window_us,
    unique_key, trace, failure, parent_id, root_id, fan_out_id, nth, outcome, signals, report, keys, parked_group,
    parked_key
)
select
    id, place, due, created_at, queue_id, command_id, state, priority, runs, steps, lane, attempt, max_attempts,
    strikes, depth, bounces, suspect, unique_held, slot, parked, keyed, worker_id, token, gate, started_at,
    timeout_us, finished_at, payload, result, unique_scope, on_duplicate, cancel_requested_at, unique_window_us,
    unique_key, trace, failure, parent_id, root_id, fan_out_id, nth, outcome, signals, report, keys, parked_group,
    parked_key
from kinfolk.task_before;

drop table kinfolk.task_before;

create index task_ready on kinfolk.task (queue_id, lane, command_id, priority, place, id)
    where state = 'pending' and gate = 'open' and not suspect;

create index task_suspect on kinfolk.task (queue_id, lane, command_id, priority, place, id)
    where state = 'pending' and gate = 'open' and suspect;

create index task_due on kinfolk.task (queue_id, due, id) where gate = 'time';

create index task_running on kinfolk.task (worker_id, id) where state = 'running';

create index task_asked on kinfolk.task (worker_id, id) where state = 'running' and cancel_requested_at is not null;

create index task_finished on kinfolk.task (queue_id, state, finished_at, id)
    where finished_at is not null and parent_id is null;

create index task_unique on kinfolk.task (unique_key, command_id, id) where unique_key is not null;

create unique index task_fan_out on kinfolk.task (fan_out_id, nth) where fan_out_id is not null;

create index task_after on kinfolk.task (fan_out_id, nth) where gate = 'after' and fan_out_id is not null;

create index task_at_work on kinfolk.task (queue_id, id) where lane = 'root' and finished_at is null;

create index task_slot on kinfolk.task (queue_id) where slot;

create index task_revived on kinfolk.task (queue_id, priority, place, id) where state = 'waiting' and lane = 'top';

create index task_limited on kinfolk.task (root_id) where gate = 'limit' and parked_group is null;

create index task_parked on kinfolk.task
    (parked_group, parked_key, queue_id, command_id, lane, priority, place, id)
    where gate = 'limit' and parked_group is not null;

create index task_waiting on kinfolk.task (command_id) where state = 'waiting';

create index task_backoff on kinfolk.task (command_id) where gate = 'time' and runs > 0;

create index task_held on kinfolk.task (command_id) where gate in ('limit', 'after') and state = 'pending';
