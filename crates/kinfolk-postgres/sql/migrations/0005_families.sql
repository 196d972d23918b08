-- Families: parents and children, fan-outs, follow-ups, lanes and limits of queues, statuses.

-- Which line a task stands in: children; roots whose family is at work, where a queue limits those; all other roots.
create type kinfolk.lane as enum ('child', 'root', 'top');

create type kinfolk.child_order as enum ('together', 'in_order', 'in_order_until_failure');

alter table kinfolk.queue
    add column family_limit integer,
    add column child_limit integer,
    add column depth_limit smallint not null default 32;

alter table kinfolk.task
    add column parent_id bigint,
    add column root_id bigint,
    add column fan_out_id bigint,
    add column nth integer,
    add column depth smallint not null default 0,
    add column slot boolean not null default false,
    add column lane kinfolk.lane not null default 'top',
    add column outcome kinfolk.state;

drop index kinfolk.task_ready;

create index task_ready on kinfolk.task (queue_id, lane, command_id, priority, place, id)
    where state = 'pending' and gate = 'open' and not suspect;

drop index kinfolk.task_suspect;

create index task_suspect on kinfolk.task (queue_id, lane, command_id, priority, place, id)
    where state = 'pending' and gate = 'open' and suspect;

drop index kinfolk.task_finished;

create index task_finished on kinfolk.task (queue_id, state, finished_at, id)
    where finished_at is not null and parent_id is null;

create unique index task_fan_out on kinfolk.task (fan_out_id, nth) where fan_out_id is not null;

create index task_after on kinfolk.task (fan_out_id, nth) where gate = 'after' and fan_out_id is not null;

create index task_at_work on kinfolk.task (queue_id, id) where lane = 'root' and finished_at is null;

create index task_slot on kinfolk.task (queue_id) where slot;

create index task_revived on kinfolk.task (queue_id, priority, place, id) where state = 'waiting' and lane = 'top';

create index task_limited on kinfolk.task (root_id) where gate = 'limit';

create index task_waiting on kinfolk.task (command_id) where state = 'waiting';

create index task_backoff on kinfolk.task (command_id) where gate = 'time' and runs > 0;

create index task_held on kinfolk.task (command_id) where gate in ('limit', 'after');

-- The children that one task made, together, and how they are doing.
create table kinfolk.fan_out (
    id bigint primary key,
    task_id bigint not null,
    root_id bigint not null,
    depth smallint not null,
    child_order kinfolk.child_order not null,
    waits boolean not null,
    total integer not null,
    completed integer not null default 0,
    failed integer not null default 0,
    cancelled integer not null default 0,
    held integer not null default 0
) with (fillfactor = 50);

create index fan_out_task on kinfolk.fan_out (task_id);

create index fan_out_root on kinfolk.fan_out (root_id);

-- Which families a follow-up waits for.
create table kinfolk.follow_up (
    task_id bigint not null,
    root_id bigint not null,
    needs_completed boolean not null,
    queue_id integer not null,
    ended kinfolk.state,
    primary key (root_id, task_id)
);

create index follow_up_task on kinfolk.follow_up (task_id, ended);

create index follow_up_ended on kinfolk.follow_up (queue_id, task_id) where ended is not null;

-- Whether anything is going on among a set of commands.
create table kinfolk.status (
    name text collate "C" primary key,
    commands text[] not null,
    active boolean not null,
    changed_at timestamptz not null
);
