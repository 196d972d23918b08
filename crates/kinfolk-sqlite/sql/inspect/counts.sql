-- counts: how many tasks there are by queue, command and state; every branch reads one index alone, and together they
-- hold each task once, except waiting ones and those behind other gates, of which there are none yet.
-- params: none
-- index:  task_ready_idx, task_suspect_idx, task_due_idx, task_finished_idx; running tasks by task_running_idx
select queue_id,
       command_id,
       'pending' as state,
       count(*) as tasks
from task
where gate = 'open'
  and suspect = 0
group by queue_id, command_id
union all
select queue_id,
       command_id,
       'pending',
       count(*)
from task
where gate = 'open'
  and suspect = 1
group by queue_id, command_id
union all
select queue_id,
       command_id,
       'pending',
       count(*)
from task
where gate = 'time'
group by queue_id, command_id
union all
select queue_id,
       command_id,
       'running',
       count(*)
from task
where worker is not null
group by queue_id, command_id
union all
select queue_id,
       command_id,
       state,
       count(*)
from task
where finished_at is not null
group by queue_id, state, command_id
