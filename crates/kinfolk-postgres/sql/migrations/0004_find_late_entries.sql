-- Entries of `late` are looked up by their horizon and by their task, so that a claim touches only those it can act upon.

drop index kinfolk.late_queue;

create index late_queue on kinfolk.late (queue_id, horizon);

create index late_task on kinfolk.late (task_id);
