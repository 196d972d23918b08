-- running: running tasks without a registered worker or without a token.
-- params: none
-- index:  task_running_idx
select id,
       'worker ' || coalesce(hex(worker), 'none') || ', token ' || iif(token is null, 'none', 'set')
from task
where state = 'running'
  and (
      token is null
      or not exists (
          select 1
          from worker
          where worker.id = task.worker
      )
  )
