-- One row for each task, updated in place.
--
-- A claim reads `task_ready` and, where there are suspects, `task_suspect`; it opens what is due by `task_due`. Finished tasks,
-- scheduled ones and those of other commands are in none of the ranges it reads. `runs` counts claims and never goes back; `attempt`
-- counts the attempts that cost one. `payload` is null where it is kept in `body`. `unique_held` ends when the key is given up for good;
-- `unique_key` stays, for later look-ups. `root_id` is null for a root. `nth`: which child of its fan-out. `outcome`: how its own work
-- ended, while it waits for its children, and after they have failed it. `ran_by`: the worker that has claimed it last. `child_slot`:
-- holds one unit of its queue's `child_limit`, while it runs. `steps`: checkpoints that its handler has written. `was_suspended`: its
-- handler was suspended at least once, so that it may have fan-outs while it pends or runs. `signals`: those that a suspended handler
-- waits for. A suspended task is `waiting` without an outcome; one with a timer has the gate `time`, and is opened by a claim as others
-- are. `ran_us`: how long its handler had run when it was last suspended, null for one that never was. `keys`: its keys by the names of
-- groups, null: none. `holds_slots`: it took slots when it was last claimed, and may hold some of them. `blocked_group`, `blocked_key`:
-- behind which key it waits while its gate is `limit`. `fair_value`: with which value of its queue's fair key it takes turns while its
-- gate is `turn`. `failed_tries`: how often a claim has blocked it behind a key since it last ran. `maker_id`, `follows_id`: of a
-- follow-up, the task whose handler made it, and the root of its family. A task without parent and children is in none of the indexes
-- below `task_finished`, unless it is held back, has a unique key or does not complete.
--
-- Columns that are never null stand first, by their width: behind one that is null the others are found by walking over
-- all before them.

create sequence kinfolk.task_id as bigint cache 1;

create table kinfolk.task (
    id bigint primary key,
    position timestamptz not null,
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
    failed_tries smallint not null default 0,
    suspect boolean not null default false,
    unique_held boolean not null default false,
    child_slot boolean not null default false,
    was_suspended boolean not null default false,
    holds_slots boolean not null default false,
    worker_id uuid,
    token uuid,
    ran_by uuid,
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
    ran_us bigint,
    keys jsonb,
    blocked_group integer,
    blocked_key text collate "C",
    maker_id bigint,
    follows_id bigint,
    fair_value text collate "C"
) with (fillfactor = 70);

create index task_ready on kinfolk.task (queue_id, lane, command_id, priority, position, id)
    where state = 'pending' and gate = 'open' and not suspect;

create index task_suspect on kinfolk.task (queue_id, lane, command_id, priority, position, id)
    where state = 'pending' and gate = 'open' and suspect;

-- Tasks that waited, or wait, on account of strikes, and tasks that failed by them: a few.
create index task_struck on kinfolk.task (id) where strikes > 0;

create index task_due on kinfolk.task (queue_id, due, id) where gate = 'time';

-- The tasks that are not due, by command, for counts. A suspended task is none of them.
create index task_later on kinfolk.task (queue_id, command_id) where gate = 'time' and state = 'pending';

create index task_running on kinfolk.task (worker_id, id) where state = 'running';

create index task_asked on kinfolk.task (worker_id, id) where state = 'running' and cancel_requested_at is not null;

create index task_finished on kinfolk.task (queue_id, state, finished_at, id)
    where finished_at is not null and parent_id is null;

-- Tasks that did not complete, for listings: no task that completes enters it.
create index task_not_completed on kinfolk.task (state, finished_at, id) include (queue_id, command_id)
    where state in ('failed', 'cancelled');

create index task_unique on kinfolk.task (unique_key, command_id, id) where unique_key is not null;

-- The children of a fan-out; those of an in-order one that wait for their turn.
create unique index task_fan_out on kinfolk.task (fan_out_id, nth) where fan_out_id is not null;

create index task_after on kinfolk.task (fan_out_id, nth) where gate = 'after' and fan_out_id is not null;

-- The follow-ups that a family has made.
create index task_follows on kinfolk.task (follows_id, id) where follows_id is not null;

-- The two counts of a queue's limits: families at work, and children running.
create index task_at_work on kinfolk.task (queue_id, id) where lane = 'root' and finished_at is null;

create index task_child_slot on kinfolk.task (queue_id) where child_slot;

-- Families that were set going again and have not been let in by their queue, and their tasks.
create index task_revived on kinfolk.task (queue_id, priority, position, id) where state = 'waiting' and lane = 'top';

create index task_limited on kinfolk.task (root_id) where gate = 'family';

-- Tasks that wait behind a key, in the order in which a claim takes them.
create index task_blocked on kinfolk.task
    (blocked_group, blocked_key, queue_id, command_id, lane, priority, position, id)
    where gate = 'limit';

-- Tasks that wait for their turn, by the values of the fair key.
create index task_turn on kinfolk.task (queue_id, command_id, lane, suspect, priority, fair_value, position, id)
    where gate = 'turn';

-- The tasks that make a command active, beside those that run or are ready.
create index task_waiting on kinfolk.task (command_id, queue_id) where state = 'waiting';

create index task_backoff on kinfolk.task (command_id) where gate = 'time' and runs > 0;

-- The state is said so that no look at the tasks behind one key goes through all that wait.
create index task_held on kinfolk.task (command_id, queue_id) where gate not in ('open', 'time') and state = 'pending';
