-- due: the pending tasks that wait for their time on a queue, of a range of commands.
-- params: 1 queue_id, 2 least command_id, 3 largest command_id, 4 page
-- index:  task_later_idx, alone
select id
from task
where queue_id = ?1
  and command_id between ?2 and ?3
  and gate = 'time'
  and state = 'pending'
limit ?4
