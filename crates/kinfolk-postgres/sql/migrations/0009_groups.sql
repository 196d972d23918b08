-- Groups: slots by key, rates, and what waits behind them.

alter table kinfolk.task
    add column keys jsonb,
    add column keyed boolean not null default false,
    add column bounces smallint not null default 0,
    add column parked_group integer,
    add column parked_key text collate "C";

drop index kinfolk.task_limited;

drop index kinfolk.task_held;

create index task_limited on kinfolk.task (root_id) where gate = 'limit' and parked_group is null;

create index task_held on kinfolk.task (command_id) where gate in ('limit', 'after') and state = 'pending';

create index task_parked on kinfolk.task
    (parked_group, parked_key, queue_id, command_id, lane, priority, place, id)
    where gate = 'limit' and parked_group is not null;

alter table kinfolk.command add column grouped boolean not null default false;

alter table kinfolk.queue
    add column paused_by text,
    add column fair text collate "C",
    add column turn text collate "C";

alter table kinfolk.schedule add column keys jsonb;

alter table kinfolk.intent
    add column slot_keys jsonb,
    add column inherits boolean;

create table kinfolk.slot_group (
    id integer generated always as identity primary key,
    command_id integer,
    name text collate "C" not null,
    slots integer,
    rate_count integer,
    rate_per_us bigint,
    rate_burst integer,
    hold boolean not null default false,
    set_slots integer,
    set_rate_count integer,
    set_rate_per_us bigint,
    set_rate_burst integer,
    pages integer not null default 1,
    spread integer not null default 1
);

create unique index slot_group_own on kinfolk.slot_group (command_id, name) where command_id is not null;

create unique index slot_group_shared on kinfolk.slot_group (name) where command_id is null;

create table kinfolk.command_group (
    command_id integer not null,
    name text collate "C" not null,
    group_id integer not null,
    primary key (command_id, name)
);

create index command_group_group on kinfolk.command_group (group_id);

create table kinfolk.slot_setting (
    group_id integer not null,
    key text collate "C" not null,
    slots integer,
    rate_count integer,
    rate_per_us bigint,
    rate_burst integer,
    primary key (group_id, key)
);

create table kinfolk.slot (
    group_id integer not null,
    page integer not null,
    keys text[] collate "C" not null,
    tasks bigint[] not null,
    primary key (group_id, page)
) with (fillfactor = 30, toast_tuple_target = 8160);

create table kinfolk.freed (
    group_id integer not null,
    id bigint generated always as identity,
    keys text[] collate "C" not null,
    tasks bigint[] not null,
    primary key (group_id, id)
) with (toast_tuple_target = 8160);

create table kinfolk.ready_key (
    queue_id integer not null,
    command_id integer not null,
    group_id integer not null,
    key text collate "C" not null,
    primary key (queue_id, command_id, group_id, key)
);

create table kinfolk.spent (
    group_id integer not null,
    key text collate "C" not null,
    spent_until timestamptz,
    paused_until timestamptz,
    wakes_at timestamptz,
    primary key (group_id, key)
);

create index spent_wakes on kinfolk.spent (group_id, wakes_at) where wakes_at is not null;

create index spent_passed on kinfolk.spent (greatest(spent_until, paused_until)) where wakes_at is null;

create table kinfolk.reserved (
    group_id integer primary key,
    key text collate "C" not null,
    task_id bigint not null
);
