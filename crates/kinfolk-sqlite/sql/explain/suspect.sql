-- suspect: whether a worker runs a suspect.
-- params: 1 worker
-- index:  task_running_idx, alone
select 1
from task
where worker = ?1
  and suspect = 1
limit 1
