-- running: the running tasks.
-- params: 1 page
-- index:  task_running_idx, alone
select id
from task
where worker is not null
limit ?1
