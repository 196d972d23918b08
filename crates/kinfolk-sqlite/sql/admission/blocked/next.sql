-- next: the next task behind a key, in the order of queue, command, lane, `blocked_as`, priority, position and number.
-- params: 1 group_id, 2 key, 3 queue_id, 4 command_id, 5 lane, 6 blocked_as, 7 priority, 8 position, 9 id
-- index:  task_blocked_idx, alone
select queue_id,
       command_id,
       lane,
       blocked_as,
       priority,
       position,
       id
from task
where blocked_group = ?1
  and blocked_key = ?2
  and blocked_group is not null
  and (queue_id, command_id, lane, blocked_as, priority, position, id) > (?3, ?4, ?5, ?6, ?7, ?8, ?9)
order by queue_id, command_id, lane, blocked_as, priority, position, id
limit 1
