-- Processes that run tasks.

create table worker (
    id           blob    not null primary key,
    name         text    not null,
    queues       text    not null, -- JSON array of names
    commands     text    not null, -- JSON array of names
    lease        integer not null,
    started_at   integer not null,
    lease_until  integer not null,
    steady_since integer not null, -- since when it has renewed without a gap
    version      text    not null default '', -- the program that it is a part of, in its own words
    minutes_recorded integer not null default 0 -- the number of its last record of what it did
) strict, without rowid;
