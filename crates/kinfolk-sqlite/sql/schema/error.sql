-- Every attempt that failed. Entries outlive their tasks, and are kept for a while.

create table error (
    id         integer primary key,
    at         integer not null,
    task_id    integer not null,
    command_id integer not null,
    queue_id   integer not null,
    attempt    integer not null,
    failure    text    not null
) strict;

create index error_at_idx on error (at);
create index error_task_idx on error (task_id);
create index error_kind_idx on error (queue_id, command_id);
