-- queues: where the pending children of a fan-out are.
-- params: 1 fan_out_id
-- index:  task_child_idx
select distinct queue_id
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and state = 'pending'
