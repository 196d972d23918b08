-- is_ready: whether a task is to be looked at by the next claim.
-- params: 1 queue_id, 2 command_id, 3 suspect, 4 lane, 5 priority, 6 position, 7 task_id
-- index:  ready_waiter, by all it has
select 1
from ready_waiter
where queue_id = ?1
  and command_id = ?2
  and suspect = ?3
  and lane = ?4
  and priority = ?5
  and position = ?6
  and task_id = ?7
