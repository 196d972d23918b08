-- Functions in the database that handle commands, and what they mean to make.

alter table kinfolk.command
    add column handler text,
    add column handler_kind text,
    add column before_handler text,
    add column after_handler text,
    add column statement_timeout_us bigint;

-- What is known of the size of a payload once its duplicates are laid in.
alter table kinfolk.duplicate
    add column bound bigint not null default 0,
    add column since integer not null default 0,
    add column checked integer not null default 0;

create table kinfolk.intent (
    task_id bigint not null,
    token uuid not null,
    arrival bigint generated always as identity,
    kind text not null,
    id bigint,
    command text,
    payload jsonb,
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
    starts_when text,
    child_order text,
    primary key (task_id, token, arrival)
);
