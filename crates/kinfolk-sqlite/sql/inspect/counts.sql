-- counts: how many tasks there are by queue, command and state; every branch reads one index alone, and together they
-- hold each task once.
-- params: none
-- index:  task_ready_idx, task_lane_idx, task_suspect_idx, task_due_idx, task_held_idx, task_waiting_idx,
--         task_finished_idx, task_ended_child_idx; running tasks by task_running_idx
select queue_id,
       command_id,
       'pending' as state,
       count(*) as tasks
from task
where gate = 'open'
  and suspect = 0
  and lane = 'top'
group by queue_id, command_id
union all
select queue_id,
       command_id,
       'pending',
       count(*)
from task
where gate = 'open'
  and suspect = 0
  and lane <> 'top'
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
       'pending',
       count(*)
from task
where (gate = 'limit' or gate = 'after')
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
       'waiting',
       count(*)
from task
where state = 'waiting'
group by queue_id, command_id
union all
select queue_id,
       command_id,
       state,
       count(*)
from task
where finished_at is not null
  and depth = 0
group by queue_id, state, command_id
union all
select queue_id,
       command_id,
       state,
       count(*)
from task
where (state = 'completed' or state = 'failed' or state = 'cancelled')
  and lane = 'child'
group by queue_id, command_id, state
