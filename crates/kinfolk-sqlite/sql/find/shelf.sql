-- shelf: what stands on a shelf, of a queue.
-- params: 1 queue_id, 2 and 3 the least and the largest command_id, 4 page, 5 shelf
-- index:  task_shelf_idx, alone
select id
from task
where shelf = ?5
  and shelf is not null
  and queue_id = ?1
  and command_id between ?2 and ?3
limit ?4
