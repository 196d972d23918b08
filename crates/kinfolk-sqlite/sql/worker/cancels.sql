-- cancels: the running tasks of a worker whose end is asked for.
-- params: 1 worker
-- index:  task_cancel_idx
select id,
       token
from task
where worker = ?1
  and cancel_requested_at is not null
order by id
