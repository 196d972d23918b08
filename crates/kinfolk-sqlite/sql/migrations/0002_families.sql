-- 0002_families: children, queue limits, follow-ups and statuses.
-- A task that has no family touches none of the new indexes and tables, except while it waits to be tried again.

alter table queue add column family_limit integer; -- null is no limit
alter table queue add column child_limit  integer;
alter table queue add column depth_limit  integer not null default 32;

alter table task add column parent_id  integer;
alter table task add column root_id    integer; -- null for a root: it is its own
alter table task add column depth      integer not null default 0;
alter table task add column fan_out_id integer; -- which children of its parent it is one of
alter table task add column nth        integer; -- the how-many-eth of them, from 0
alter table task add column outcome    text     -- how its own work ended, while it waits and if its children failed it
    constraint known_outcome check (outcome is null or outcome = 'completed' or outcome = 'cancelled');
-- top: a root; root: a root whose family is at work on a queue with family_limit; child: whatever has a parent.
alter table task add column lane       text not null default 'top'
    constraint child_iff_parent check ((lane = 'child') = (parent_id is not null));
alter table task add column slot       integer not null default 0; -- it runs, and counts for its queue's child_limit
-- Where a task is found that no older index finds, or null. Hot statements on flat tasks never write this column, so
-- that they need not even look at the indexes on it. It follows from the rest:
--   root, child                   open and no suspect, in that lane
--   after, limit                  held by that gate
--   backoff                       behind the gate time, and has run before (flat tasks too)
--   waiting                       waits for its children
--   outside                       a root that waits for its children, and whose family has to be let in again
--   completed, failed, cancelled  a child that has ended
alter table task add column shelf      text;

-- Children made at once, and how they are doing. Those that a task spawns have its number.
create table fan_out (
    id          integer primary key,
    task_id     integer not null, -- whose children they are
    root_id     integer not null,
    depth       integer not null, -- of the task whose children they are
    child_order text    not null,
    total       integer not null,
    completed   integer not null,
    failed      integer not null,
    cancelled   integer not null,
    held        integer not null, -- those that wait for an earlier one
    waits       integer not null, -- the task is waiting for them
    constraint sane_counts check (completed + failed + cancelled + held <= total)
) strict;

create index fan_out_task_idx on fan_out (task_id);

create index fan_out_root_idx on fan_out (root_id, depth);

-- Which families a follow-up waits for, and how those ended that have.
create table follow_up (
    task_id         integer not null,
    root_id         integer not null,
    needs_completed integer not null,
    queue_id        integer not null, -- the follow-up's
    ended           text,
    primary key (task_id, root_id)
) strict, without rowid;

create index follow_up_root_idx on follow_up (root_id);

create index follow_up_ended_idx on follow_up (queue_id, task_id)
where ended is not null;

create table status (
    name       text    not null primary key,
    commands   text    not null, -- JSON array of names
    active     integer not null,
    changed_at integer not null
) strict, without rowid;

-- What a claim reads: tasks of the lane top command by command, as ever; the other lanes apart.
-- (The parentheses let SQLite answer from the index alone: it looks through one conjunction, not through a chain.)
drop index task_ready_idx;
create index task_ready_idx on task (queue_id, command_id, priority, place)
where gate = 'open' and (suspect = 0 and lane = 'top');

create index task_shelf_idx on task (shelf, queue_id, command_id, priority, place)
where shelf is not null;

drop index task_suspect_idx;
create index task_suspect_idx on task (queue_id, lane, command_id, priority, place)
where gate = 'open' and suspect = 1;

-- Families at work, and children that run, on queues that limit them.
create index task_at_work_idx on task (queue_id)
where lane = 'root';

create index task_slot_idx on task (queue_id)
where slot = 1;

-- The children of a fan-out, and those of a family that are held.
create unique index task_child_idx on task (fan_out_id, nth)
where fan_out_id is not null;

create index task_held_idx on task (root_id, fan_out_id, nth)
where shelf = 'after' or shelf = 'limit';

-- Retention goes by the root.
drop index task_finished_idx;
create index task_finished_idx on task (queue_id, state, finished_at, id, command_id)
where finished_at is not null and depth = 0;

-- A task as it is shown.
create view task_shown as
select id,
       command_id,
       queue_id,
       state,
       gate,
       priority,
       due,
       place,
       attempt,
       max_attempts,
       timeout,
       coalesce(
           payload,
           (
               select large_payload.payload
               from large_payload
               where large_payload.task_id = task.id
           )
       ) as payload,
       result,
       failure,
       unique_key,
       key_until,
       created_at,
       started_at,
       finished_at,
       cancel_requested_at,
       worker,
       token,
       runs,
       suspect,
       strikes,
       trace,
       parent_id,
       coalesce(root_id, id) as root_id,
       depth,
       outcome,
       fan_out_id,
       nth
from task;
