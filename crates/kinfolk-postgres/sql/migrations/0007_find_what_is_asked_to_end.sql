-- Which running tasks are asked to end: a heartbeat looks for them, whatever has run before.

create index task_asked on kinfolk.task (worker_id, id) where state = 'running' and cancel_requested_at is not null;
