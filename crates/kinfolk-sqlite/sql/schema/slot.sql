-- Groups: how many tasks of one key may run at once, and how many may start in a span of time.
-- A task whose command declares no group touches none of these tables.

-- A group. An operator's setting goes before the declaration.
create table slot_group (
    id             integer primary key,
    name           text    not null,
    command_id     integer references command (id), -- null: shared by all commands that declare it so
    slots          integer, -- of each key; null is no limit
    rate_count     integer, -- null is no rate
    rate_per       integer,
    rate_burst     integer,
    hold           integer not null, -- a slot is held until the task is terminal
    set_slots      integer,
    set_rate_count integer,
    set_rate_per   integer,
    set_rate_burst integer
) strict;

create unique index slot_group_own_idx on slot_group (command_id, name)
where command_id is not null;

create unique index slot_group_shared_idx on slot_group (name)
where command_id is null;

-- Which groups a command declares.
create table command_group (
    command_id integer not null references command (id),
    name       text    not null,
    group_id   integer not null references slot_group (id),
    primary key (command_id, name)
) strict, without rowid;

create index command_group_group_idx on command_group (group_id);

-- An operator's settings for single keys.
create table slot_setting (
    group_id   integer not null references slot_group (id),
    key        text    not null,
    slots      integer,
    rate_count integer,
    rate_per   integer,
    rate_burst integer,
    primary key (group_id, key)
) strict, without rowid;

-- The holders of slots, by key: a row is a holder, and there are no counts that could drift. The key of a total is empty.
create table slot_holder (
    group_id integer not null,
    key      text    not null,
    task_id  integer not null,
    primary key (group_id, key, task_id)
) strict, without rowid;

-- How much of a key's rate is spent, and until when a handler asked to start nothing more of it.
create table spent (
    group_id     integer not null,
    key          text    not null,
    spent_until  integer,
    paused_until integer,
    wakes_at     integer, -- when those that wait for the key are to be looked at again
    over_at      integer not null, -- from when on the row says nothing any more
    primary key (group_id, key)
) strict, without rowid;

create index spent_wakes_idx on spent (wakes_at)
where wakes_at is not null;

create index spent_over_idx on spent (over_at);

-- The task that has been sent from key to key so often that room is kept for it; one of each group at most.
create table reserved (
    group_id integer primary key references slot_group (id),
    key      text    not null,
    task_id  integer not null
) strict;

-- The foremost tasks behind a key that may have room, one of each queue, command and lane: claims read them
-- together with open tasks.
create table ready_waiter (
    queue_id   integer not null,
    command_id integer not null,
    suspect    integer not null,
    lane       text    not null,
    priority   integer not null,
    position   integer not null,
    task_id    integer not null,
    primary key (queue_id, command_id, suspect, lane, priority, position, task_id)
) strict, without rowid;
