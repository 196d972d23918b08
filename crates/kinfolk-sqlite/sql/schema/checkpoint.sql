-- The records of handlers. The rows of a task lie in the order of writing.

create table checkpoint (
    id         integer primary key,
    task_id    integer not null references task (id),
    seq        integer not null, -- the how-many-eth of its task, from 0
    branch     text    not null,
    name       text    not null,
    occurrence integer not null,
    kind       text    not null,
    digest     text    not null,
    value      text    not null,
    recorded_at integer not null
) strict;

create unique index checkpoint_key_idx on checkpoint (task_id, branch, name, occurrence);
