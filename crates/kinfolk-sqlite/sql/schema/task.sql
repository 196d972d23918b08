-- One row for each task, updated in place. The large columns come last: behind them the others would be found by
-- walking over them.

create table task (
    id                  integer primary key, -- given out by the store's row
    command_id          integer not null references command (id),
    queue_id            integer not null references queue (id),
    state               text    not null,
    gate                text,
    priority            integer not null,
    due                 integer not null,
    position            integer not null,
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
    ran_by              blob,    -- the worker that has claimed it last
    unique_key          text,
    unique_scope        text,
    key_until           integer, -- until when the key is held: 0 is given up
    parent_id           integer,
    root_id             integer, -- null for a root: it is its own
    depth               integer not null default 0,
    fan_out_id          integer, -- which children of its parent it is one of
    nth                 integer, -- the how-many-eth of them, from 0
    outcome             text,    -- how its own work ended, while it waits and if its children failed it
    -- top: a root; root: a root whose family is at work on a queue with family_limit; child: whatever has a parent.
    lane                text    not null default 'top',
    child_slot          integer not null default 0, -- it runs, and counts for its queue's child_limit
    -- Where a task is found that no index on its gate finds, or null. Hot statements on flat tasks never write this
    -- column, so that they need not even look at the indexes on it. It follows from the rest:
    --   root, child                   open and no suspect, in that lane
    --   after, limit                  held by that gate
    --   key, turn                     waits behind a key; open on a queue whose tasks take turns
    --   backoff                       behind the gate time, and has run before (flat tasks too)
    --   waiting                       waits for its children, or is suspended without a timer
    --   asleep                        is suspended with a timer
    --   outside                       a root that waits for its children, and whose family has to be let in again
    --   completed, failed, cancelled  a child that has ended
    bucket              text,
    steps               integer not null default 0, -- checkpoints written
    was_suspended       integer not null default 0, -- has been suspended: may have fan-outs while it runs
    signals             text,    -- JSON array of the names that a suspended handler waits for, or null
    keys                text,    -- what the task gave as keys, by the names of the groups, as JSON; null for none
    holds_slots         integer not null default 0, -- it may hold slots
    -- Behind which key it waits, and how often it has been sent there or to another. It has the gate limit, and is on
    -- the bucket key.
    blocked_group       integer,
    blocked_key         text,
    blocked_as          integer not null default 0, -- 1: a suspect; 2: needs no slot of that key, only a start; 3: both
    failed_tries        integer not null default 0,
    -- On a queue whose tasks take turns: its value. It is in the bucket turn while it is open, in whatever lane.
    fair                text,
    -- How long its handler had run when it was last suspended.
    ran_before          integer not null default 0,
    made_by             integer, -- of a follow-up: the task whose handler made it
    follows             integer, -- of a follow-up: the root of the family that made it
    trace               text,
    failure             text,
    report              text,    -- how far it has come, as JSON, or null
    result              text,
    payload             text,    -- null when it is large: then it lies in large_payload
    -- Written without lists: SQLite would build a scratch table for each list at each write.
    constraint known_state check (
        state = 'pending' or state = 'running' or state = 'waiting'
        or state = 'completed' or state = 'failed' or state = 'cancelled'
    ),
    constraint known_gate check (gate is null or gate = 'open' or gate = 'time' or gate = 'limit' or gate = 'after'),
    -- A suspended task waits, and has the gate time while it has a timer.
    constraint gate_fits_state check (
        (state <> 'pending' or gate is not null)
        and (gate is null or state = 'pending' or (state = 'waiting' and gate = 'time' and outcome is null))
    ),
    constraint running_iff_worker check ((state = 'running') = (worker is not null)),
    constraint terminal_iff_finished check (
        (state = 'completed' or state = 'failed' or state = 'cancelled') = (finished_at is not null)
    ),
    constraint key_has_scope check ((unique_key is null) = (unique_scope is null)),
    constraint known_outcome check (
        outcome is null or outcome = 'completed' or outcome = 'failed' or outcome = 'cancelled'
    ),
    constraint child_iff_parent check ((lane = 'child') = (parent_id is not null))
) strict;

-- Claims read this index: tasks of the lane top command by command; the number of a task ends every index by itself.
-- (The parentheses let SQLite answer from the index alone: it looks through one conjunction, not through a chain.)
create index task_ready_idx on task (queue_id, command_id, priority, position)
where gate = 'open' and (suspect = 0 and lane = 'top');

-- The other lanes, and all else that has a bucket.
create index task_bucket_idx on task (bucket, queue_id, command_id, priority, position)
where bucket is not null;

-- Suspects have an index of their own: a claim takes one of them at most.
create index task_suspect_idx on task (queue_id, lane, command_id, priority, position)
where gate = 'open' and suspect = 1;

-- Tasks that become due.
create index task_due_idx on task (queue_id, due, id, command_id)
where gate = 'time';

-- The same by command, for counts. A suspended task is none of them.
create index task_later_idx on task (queue_id, command_id)
where gate = 'time' and state = 'pending';

-- The tasks of a worker, its suspects apart.
create index task_running_idx on task (worker, suspect)
where worker is not null;

-- Running tasks that should end.
create index task_cancel_idx on task (worker)
where worker is not null and cancel_requested_at is not null;

-- Ended families by their root, for retention and counts.
create index task_finished_idx on task (queue_id, state, finished_at, id, command_id)
where finished_at is not null and depth = 0;

-- Failed and cancelled tasks, for the reading calls: a task that completes never enters it.
create index task_not_completed_idx on task (state, finished_at, id, queue_id, command_id)
where state = 'failed' or state = 'cancelled';

-- The tasks that hold or have held a unique key.
create index task_key_idx on task (unique_key, command_id, key_until)
where unique_key is not null;

-- Families at work, and children that run, on queues that limit them.
create index task_at_work_idx on task (queue_id)
where lane = 'root';

create index task_child_slot_idx on task (queue_id)
where child_slot = 1;

-- The children of a fan-out, and the held tasks of a family.
create unique index task_child_idx on task (fan_out_id, nth)
where fan_out_id is not null;

create index task_held_idx on task (root_id, fan_out_id, nth)
where bucket = 'after' or bucket = 'limit';

-- The follow-ups that a family has made.
create index task_follows_idx on task (follows)
where follows is not null;

-- Tasks that wait behind a key. A claim reads them from the front, and only when the key has room.
create index task_blocked_idx on task (
    blocked_group, blocked_key, queue_id, command_id, lane, blocked_as, priority, position
)
where blocked_group is not null;

create index task_fair_idx on task (queue_id, command_id, priority, fair, position)
where bucket = 'turn';
