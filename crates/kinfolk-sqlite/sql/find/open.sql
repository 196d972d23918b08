-- open: the open tasks of a queue in the lane top.
-- params: 1 queue_id, 2 and 3 the least and the largest command_id, 4 page
-- index:  task_ready_idx, alone
select id
from task
where queue_id = ?1
  and command_id between ?2 and ?3
  and gate = 'open'
  and (suspect = 0 and lane = 'top')
limit ?4
