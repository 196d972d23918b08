-- When slots were freed, so that a claim that has set its tasks running before it asks for their slots counts on none that was
-- freed after that.

alter table kinfolk.freed add column freed_at timestamptz not null default '-infinity';

-- How far a worker has come through the marks of keys, where there are more than a claim reads.

alter table kinfolk.worker_queue
    add column mark_command integer,
    add column mark_group integer,
    add column mark_key text collate "C";

-- So that a claim looks at no more values that take turns than it takes tasks.

create index task_turn on kinfolk.task (queue_id, command_id, lane, priority, parked_key, place, id)
    where gate = 'limit' and parked_group < 0;
