-- The records of handlers: the answers of their durable operations, by name. `seq` counts a task's from 0.

create table kinfolk.checkpoint (
    task_id bigint not null,
    seq integer not null,
    branch text collate "C" not null,
    name text collate "C" not null,
    occurrence integer not null,
    kind text not null,
    digest text not null,
    value jsonb not null,
    recorded_at timestamptz not null,
    primary key (task_id, seq),
    unique (task_id, branch, name, occurrence)
);
