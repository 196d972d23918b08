-- next_due: the earliest moment at which a task of a queue becomes due.
-- params: 1 queue_id
-- index:  task_due_idx, its first entry
select due
from task
where queue_id = ?1
  and gate = 'time'
order by due
limit 1
