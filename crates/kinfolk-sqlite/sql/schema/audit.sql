-- The calls through a server that changed something, with their callers and the number of tasks. Kept for a while.

create table audit (
    id      integer primary key,
    at      integer not null,
    who     text    not null,
    what    text    not null,
    subject text    not null,
    tasks   integer not null
) strict;

create index audit_at_idx on audit (at);
