-- Ended attempts. A task that was completed by its first run has none: its own row says it all.

create table kinfolk.attempt (
    task_id bigint not null,
    run integer not null,
    attempt smallint not null,
    started_at timestamptz not null,
    ended_at timestamptz not null,
    worker_id uuid not null,
    ending text not null,
    failure jsonb,
    primary key (task_id, run)
);
