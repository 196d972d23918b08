-- in_line: the pending children of a fan-out that have none of their own, and what holds them.
-- params: 1 fan_out_id
-- index:  task_child_idx
select nth,
       gate
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and state = 'pending'
  and was_suspended = 0
