-- workers: every worker, oldest first.
-- params: none
-- index:  the whole table, which is small; their tasks by task_running_idx
select id,
       name,
       version,
       queues,
       commands,
       lease,
       started_at,
       lease_until,
       (
           select count(*)
           from task
           where task.worker = worker.id
       ) as running
from worker
order by started_at, id
