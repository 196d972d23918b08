-- Children made at once, and their counts. The fan-out of the children that a task spawns has the number of the task.

create table fan_out (
    id                integer primary key,
    task_id           integer not null, -- whose children they are
    root_id           integer not null,
    depth             integer not null, -- of the task whose children they are
    child_order       text    not null,
    total             integer not null,
    completed         integer not null,
    failed            integer not null,
    cancelled         integer not null,
    held              integer not null, -- those that wait for an earlier one
    waits             integer not null, -- the task is waiting for them
    rule              text,    -- null for spawned children, which nobody awaits
    parts             integer, -- of a threshold, in a million
    verdict           text,
    decided_at        integer, -- children that had ended then
    decided_step      integer, -- checkpoints that the task had then
    wake_at           integer, -- resume the task when this many have ended; null: do not
    deadline          integer,
    cancel_on_failure integer not null default 0,
    created_at        integer, -- null for spawned children
    settled_at        integer, -- when it came to its verdict
    constraint sane_counts check (completed + failed + cancelled + held <= total)
) strict;

create index fan_out_task_idx on fan_out (task_id);

create index fan_out_root_idx on fan_out (root_id, depth);

-- Fan-outs that resume a suspended task.
create index fan_out_awaited_idx on fan_out (task_id)
where wake_at is not null;

-- Fan-outs that have open children.
create index fan_out_open_idx on fan_out (task_id)
where total > completed + failed + cancelled;

-- The order in which the children of an awaited fan-out have ended, a stretch in each row: their nths, four bytes each,
-- lowest first.
create table ended_page (
    fan_out_id integer not null,
    first      integer not null, -- the place of the first of them
    nths       blob    not null,
    primary key (fan_out_id, first)
) strict, without rowid;
