-- with_keys: the pending children of a fan-out that have none of their own, and wait behind a key or hold slots.
-- params: 1 fan_out_id
-- index:  task_child_idx
select id
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and state = 'pending'
  and was_suspended = 0
  and (holds_slots = 1 or blocked_group is not null)
