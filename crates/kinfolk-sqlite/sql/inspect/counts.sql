-- counts: how many tasks are pending, running or waiting, by queue, command and state; every branch reads one index alone, and
-- together they hold each task once. (Tasks to be tried again are both behind the gate time and on a shelf. Suspended ones that have a
-- timer are too: they do not count as pending, and are taken off again. Of those that take turns only those in other lanes are
-- nowhere else.)
-- params: none
-- index:  task_ready_idx, task_suspect_idx, task_due_idx, task_shelf_idx; running tasks by
--         task_running_idx
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
       -count(*)
from task
where shelf = 'asleep'
  and shelf is not null
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
       iif(shelf in ('waiting', 'outside', 'asleep'), 'waiting', 'pending'),
       count(*)
from task
where shelf in ('root', 'child', 'after', 'limit', 'key', 'waiting', 'outside', 'asleep')
  and shelf is not null
group by shelf, queue_id, command_id
union all
select queue_id,
       command_id,
       'pending',
       count(*)
from task
where shelf = 'turn'
  and shelf is not null
  and lane <> 'top'
  and suspect = 0
group by queue_id, command_id
