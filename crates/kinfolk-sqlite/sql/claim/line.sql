-- line: the next open tasks of one command in the lane top of a queue, in their order, behind a given one.
-- params: 1 queue_id, 2 command_id, 3 priority, 4 position, 5 id, 6 page
-- index:  task_ready_idx, alone
select priority,
       position,
       id
from task
where queue_id = ?1
  and command_id = ?2
  and gate = 'open'
  and suspect = 0
  and lane = 'top'
  and (priority, position, id) > (?3, ?4, ?5)
order by priority, position, id
limit ?6
