-- due: what waits for its time on a queue, whatever its command: they do not stand by command.
-- params: 1 queue_id, 2 page
-- index:  task_due_idx, alone
select id
from task
where queue_id = ?1
  and gate = 'time'
limit ?2
