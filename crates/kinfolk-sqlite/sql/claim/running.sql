-- running: the tasks that run under a token, for a claim whose answer was lost.
-- params: 1 worker, 2 token
-- index:  task_running_idx
select id
from task
where worker = ?1
  and token = ?2
order by priority, position, id
