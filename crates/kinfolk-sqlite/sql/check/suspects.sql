-- suspects: workers that run more than one suspect.
-- params: none
-- index:  task_running_idx
select min(id),
       'worker ' || hex(worker) || ' runs ' || count(*) || ' suspects'
from task
where worker is not null
  and suspect = 1
group by worker
having count(*) > 1
