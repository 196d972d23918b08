-- Recurring schedules, each armed for one tick at a time, and the task that every tick enqueues.

create table kinfolk.schedule (
    name text collate "C" primary key,
    cron text not null,
    zone text not null,
    missed text not null,
    overlap text not null,
    paused boolean not null,
    next_at timestamptz,
    last_at timestamptz,
    last_task bigint,
    command text not null,
    payload jsonb not null,
    queue text,
    priority integer,
    due timestamptz,
    delay_us bigint,
    unique_key text,
    unique_scope text,
    unique_window_us bigint,
    on_duplicate text,
    max_attempts integer,
    timeout_us bigint,
    trace text,
    keys jsonb,
    declared_at timestamptz
);
