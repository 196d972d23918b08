-- child_slots: the first running children that count for the child_limit of a queue, by number.
-- params: 1 queue_id, 2 page
-- index:  task_child_slot_idx, alone
select id
from task
where queue_id = ?1
  and child_slot = 1
order by id
limit ?2
