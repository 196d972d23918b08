-- struck: tasks with strikes that have not ended, the task with most first. They have no index of their own, which every settle
-- would have to look at: they are found where suspects can be.
-- params: none
-- index:  task_suspect_idx, task_running_idx, task_bucket_idx
select id,
       command_id,
       strikes,
       state,
       gate,
       due
from task
where strikes > 0
  and id in (
      select id
      from task
      where gate = 'open'
        and suspect = 1
      union all
      select id
      from task
      where worker is not null
        and suspect = 1
      union all
      select id
      from task
      where (bucket = 'backoff' or bucket = 'key')
        and bucket is not null
  )
order by strikes desc, id
