-- Groups: how many tasks of one key may run at once, and how many may start in a span of time. Key '' is that of a
-- command's total.
--
-- A group without a command is shared by all that declare it (`command_group`). `set_*`: what an operator has set for all its
-- keys; `slot_setting`: for one key. A row of `slot_holder` is a page: tasks, and of which keys they hold slots. Only a call that
-- has the group's admission lock writes it. `first_page`, `pages`: which ones a group has; `spread`: on how many of them the
-- holders of one key stand. `writes`: how often a page was written under its number. A row of `freed` says that tasks have given
-- back their slots of these keys: written in the transaction that frees them, without a look at the tasks that wait, and taken by the next
-- claim that has the admission lock: so it can't miss one that is blocked at that moment. The usage of a key is the count of its
-- holders that are on a page and in no hint. A row of `ready_key` says that the key may have room, and tasks of this command on
-- this queue may wait behind it. It stays until a claim has seen, with the lock in hand, that there is no room or that no task
-- waits. `spent`: how much of a rate is used up, until when a key is paused, and when its waiters are to be looked at. A row whose
-- times have passed says nothing, and `prune` removes it. `reserved`: the task for which a unit of a key's room is kept; one task
-- a group.

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
    first_page integer not null default 0,
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

create table kinfolk.slot_holder (
    group_id integer not null,
    page integer not null,
    keys text[] collate "C" not null,
    tasks bigint[] not null,
    writes integer not null default 0,
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
