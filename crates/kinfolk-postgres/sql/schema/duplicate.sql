-- Payloads that were enqueued under a unique key that another task holds, to be applied to that task when it starts.
-- Rows are only ever inserted by an enqueue, so that it never waits for, and never holds up, a claim or another enqueue.
-- `id` is the number the newcomer would have had as a task: a repeated enqueue finds its own row.
-- `bound`: the payload of the task is at most so large with this one and all before it; that was known for sure `since` so
-- many rows before, when there were `checked`.

create table kinfolk.duplicate (
    id bigint primary key,
    arrival bigint generated always as identity,
    task_id bigint not null,
    on_duplicate kinfolk.on_duplicate not null,
    payload jsonb not null,
    bound bigint not null default 0,
    since integer not null default 0,
    checked integer not null default 0
);

create index duplicate_task on kinfolk.duplicate (task_id, arrival);

-- Tasks that gave up their key to a claim or a cancel while an enqueue that saw it held may not have committed yet.
-- `horizon`: when every transaction below it has ended, no such enqueue is left. Null: not known yet.
create table kinfolk.released_key (
    queue_id integer not null,
    task_id bigint not null,
    horizon xid8
);

create index released_key_queue on kinfolk.released_key (queue_id, horizon);

create index released_key_task on kinfolk.released_key (task_id);
