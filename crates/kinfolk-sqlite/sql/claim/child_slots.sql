-- child_slots: how many running children count for the child_limit of a queue.
-- params: 1 queue_id
-- index:  task_child_slot_idx, alone
select count(*)
from task
where queue_id = ?1
  and child_slot = 1
