-- 0004_groups: how many tasks of one key may run at once, how many may start in a span of time, and who takes turns.
-- A task whose command declares no group touches none of the new indexes and tables.

alter table queue add column paused_by   text;
alter table queue add column fair        text; -- the name of the key whose values take turns; null: first come, first served
alter table queue add column fair_cursor text; -- the value whose turn was last

-- A group. What an operator has set goes before what is declared.
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

-- What is set for single keys.
create table slot_setting (
    group_id   integer not null references slot_group (id),
    key        text    not null,
    slots      integer,
    rate_count integer,
    rate_per   integer,
    rate_burst integer,
    primary key (group_id, key)
) strict, without rowid;

-- Who holds a slot of which key: a row is a holder, and there are no counts that could drift. The key of a total is empty.
create table slot (
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

-- What the task gave as keys, by the names of the groups, as JSON; null for none.
alter table task add column keys         text;
alter table task add column keyed        integer not null default 0; -- it may hold slots
-- Behind which key it waits, and how often it has been sent there or to another. It has the gate limit, and is on the
-- shelf key.
alter table task add column parked_group integer;
alter table task add column parked_key   text;
alter table task add column parked_as    integer not null default 0; -- 1: a suspect; 2: needs no slot of that key, only a start; 3: both
alter table task add column bounces      integer not null default 0;
-- On a queue whose tasks take turns: its value. It is on the shelf turn while it is open, in whatever lane.
alter table task add column fair         text;

-- Those that wait behind a key. They are read from the front, and only when the key has room.
create index task_parked_idx on task (
    parked_group, parked_key, queue_id, command_id, lane, parked_as, priority, place
)
where parked_group is not null;

create index task_fair_idx on task (queue_id, command_id, priority, fair, place)
where shelf = 'turn';

-- The foremost of those that wait behind a key that may have room, one of each queue, command and lane: claims read them
-- together with what is open.
create table ready_mark (
    queue_id   integer not null,
    command_id integer not null,
    suspect    integer not null,
    lane       text    not null,
    priority   integer not null,
    place      integer not null,
    task_id    integer not null,
    primary key (queue_id, command_id, suspect, lane, priority, place, task_id)
) strict, without rowid;

drop view task_shown;
create view task_shown as
select id,
       command_id,
       queue_id,
       state,
       gate,
       priority,
       due,
       place,
       attempt,
       max_attempts,
       timeout,
       coalesce(
           payload,
           (
               select large_payload.payload
               from large_payload
               where large_payload.task_id = task.id
           )
       ) as payload,
       result,
       failure,
       unique_key,
       key_until,
       created_at,
       started_at,
       finished_at,
       cancel_requested_at,
       worker,
       token,
       runs,
       suspect,
       strikes,
       trace,
       parent_id,
       coalesce(root_id, id) as root_id,
       depth,
       outcome,
       fan_out_id,
       nth,
       steps,
       signals,
       report,
       keys,
       keyed
from task;
