-- suspects: the open suspects of a queue, in one lane.
-- params: 1 queue_id, 2 and 3 the least and the largest command_id, 4 page, 5 lane
-- index:  task_suspect_idx, alone
select id
from task
where queue_id = ?1
  and lane = ?5
  and command_id between ?2 and ?3
  and gate = 'open'
  and suspect = 1
limit ?4
