-- slots: the first running children that count for the child_limit of a queue, by number.
-- params: 1 queue_id, 2 page
-- index:  task_slot_idx, alone
select id
from task
where queue_id = ?1
  and slot = 1
order by id
limit ?2
