-- Ended runs. A task that was completed by its first run has none: its own row says it all.

create table attempt (
    task_id    integer not null references task (id),
    run        integer not null,
    attempt    integer not null,
    started_at integer not null,
    ended_at   integer not null,
    worker     blob    not null,
    ending     text    not null,
    failure    text,
    -- The waits of a run that ended as suspended: fan-outs and signals as JSON arrays, and a moment.
    awaited    text,
    until      integer,
    signals    text,
    primary key (task_id, run)
) strict, without rowid;
