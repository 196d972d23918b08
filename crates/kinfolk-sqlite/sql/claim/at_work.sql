-- at_work: how many families are at work on a queue.
-- params: 1 queue_id
-- index:  task_at_work_idx, alone
select count(*)
from task
where queue_id = ?1
  and lane = 'root'
