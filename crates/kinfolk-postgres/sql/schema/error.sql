-- Every attempt that failed. Entries are only ever added; they outlive their tasks, and are kept for a while (`errors_kept_us`).
-- `handler`: the function in this database that failed, or that handled the command.

create table kinfolk.error (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    task_id bigint not null,
    command_id integer not null,
    queue_id integer not null,
    attempt smallint not null,
    handler text,
    failure jsonb not null
);

create index error_at on kinfolk.error (at);
create index error_task on kinfolk.error (task_id, id);
create index error_kind on kinfolk.error (queue_id, command_id, id);
