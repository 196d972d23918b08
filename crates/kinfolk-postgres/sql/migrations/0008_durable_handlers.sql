-- Durable handlers: what they have recorded, what they wait for, the fan-outs that they await, signals.

alter table kinfolk.task
    add column steps integer not null default 0,
    add column parked boolean not null default false,
    add column signals text[] collate "C",
    add column report jsonb;

alter table kinfolk.fan_out
    add column rule text,
    add column parts integer,
    add column verdict text,
    add column decided_at integer,
    add column decided_step integer,
    add column wake_at integer,
    add column deadline timestamptz,
    add column cancel_on_failure boolean not null default false,
    add column created_at timestamptz;

create table kinfolk.ended_page (
    fan_out_id bigint not null,
    first integer not null,
    nths integer[] not null,
    primary key (fan_out_id, first)
);

create table kinfolk.checkpoint (
    task_id bigint not null,
    seq integer not null,
    branch text collate "C" not null,
    name text collate "C" not null,
    occurrence integer not null,
    kind text not null,
    digest text not null,
    value jsonb not null,
    primary key (task_id, seq),
    unique (task_id, branch, name, occurrence)
);

create table kinfolk.signal (
    task_id bigint not null,
    arrival bigint generated always as identity,
    name text collate "C" not null,
    value jsonb not null,
    primary key (task_id, arrival)
);
