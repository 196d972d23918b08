-- worker: tasks that have a worker and do not run.
-- params: none
-- index:  task_running_idx
select id,
       'is ' || state || ' and has worker ' || hex(worker)
from task
where worker is not null
  and state <> 'running'
