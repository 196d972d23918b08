-- 0003_durable_handlers: what handlers record and await, and suspended tasks.
-- A task whose handler records nothing and never waits touches none of the new indexes and tables.

-- A suspended task waits, and has the gate time while it has a timer; whoever waits may have failed by its own work.
alter table task drop constraint pending_iff_gate;
alter table task add constraint gate_fits_state check (
    (state <> 'pending' or gate is not null)
    and (gate is null or state = 'pending' or (state = 'waiting' and gate = 'time' and outcome is null))
);
alter table task drop constraint known_outcome;
alter table task add constraint known_outcome check (
    outcome is null or outcome = 'completed' or outcome = 'failed' or outcome = 'cancelled'
);

alter table task add column steps   integer not null default 0; -- checkpoints written
alter table task add column parked  integer not null default 0; -- has been suspended: may have fan-outs while it runs
alter table task add column signals text; -- JSON array of the names that a suspended handler waits for, or null
alter table task add column report  text; -- how far it has come, as JSON, or null
-- A suspended task is on the shelf waiting, or asleep while it has a timer.

alter table fan_out add column rule              text;    -- null for spawned children, which nobody awaits
alter table fan_out add column parts             integer; -- of a threshold, in a million
alter table fan_out add column verdict           text;
alter table fan_out add column decided_at        integer; -- children that had ended then
alter table fan_out add column decided_step      integer; -- checkpoints that the task had then
alter table fan_out add column wake_at           integer; -- resume the task when this many have ended; null: do not
alter table fan_out add column deadline          integer;
alter table fan_out add column cancel_on_failure integer not null default 0;
alter table fan_out add column created_at        integer; -- null for spawned children

-- Those that a suspended task is to be resumed by.
create index fan_out_awaited_idx on fan_out (task_id)
where wake_at is not null;

-- Those that have open children.
create index fan_out_open_idx on fan_out (task_id)
where total > completed + failed + cancelled;

-- What handlers have recorded. The rows of a task lie in the order of writing.
create table checkpoint (
    id         integer primary key,
    task_id    integer not null references task (id),
    seq        integer not null, -- the how-many-eth of its task, from 0
    branch     text    not null,
    name       text    not null,
    occurrence integer not null,
    kind       text    not null,
    digest     text    not null,
    value      text    not null
) strict;

create unique index checkpoint_key_idx on checkpoint (task_id, branch, name, occurrence);

-- The order in which the children of an awaited fan-out have ended, a stretch in each row: their nths, four bytes each,
-- lowest first.
create table ended_page (
    fan_out_id integer not null,
    first      integer not null, -- the place of the first of them
    nths       blob    not null,
    primary key (fan_out_id, first)
) strict, without rowid;

-- Signals that nobody has taken yet, in the order of their arrival.
create table signal (
    arrival integer primary key,
    task_id integer not null references task (id),
    name    text    not null,
    value   text    not null
) strict;

create index signal_task_idx on signal (task_id, name);

drop view task_shown;
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
       nth,
       steps,
       signals,
       report
from task;
