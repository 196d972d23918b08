-- The commands that tasks run, with their defaults. `max_attempts` is null where none were declared.

create table command (
    id           integer primary key,
    name         text    not null unique,
    queue_id     integer not null references queue (id),
    priority     integer not null,
    max_attempts integer,
    base_ms      integer not null,
    cap_ms       integer not null,
    jitter_pct   integer not null,
    max_strikes  integer not null,
    timeout      integer,
    label        text     -- the path of the payload, with dots, at which the label of a task stands
) strict;
