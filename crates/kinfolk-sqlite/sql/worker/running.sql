-- running: the numbers of the tasks a worker has.
-- params: 1 worker, 2 page
-- index:  task_running_idx
select id
from task
where worker = ?1
order by id
limit ?2
