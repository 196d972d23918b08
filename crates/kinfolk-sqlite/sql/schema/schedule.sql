-- Recurring schedules, each armed for one tick at a time, and the task that every tick enqueues.

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
    last_task integer,
    declared_at integer -- when a worker last said at its start that its code declares it
) strict, without rowid;

create index schedule_due_idx on schedule (next_at, name)
where paused = 0 and next_at is not null;
