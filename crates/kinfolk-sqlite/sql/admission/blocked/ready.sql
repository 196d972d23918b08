-- ready: the next tasks of one command in one lane of a queue that wait behind keys which may have room, in their order,
-- behind a given one.
-- params: 1 queue_id, 2 command_id, 3 priority, 4 position, 5 id, 6 page, 7 lane, 8 suspect
-- index:  ready_waiter, by all it has
select priority,
       position,
       task_id
from ready_waiter
where queue_id = ?1
  and command_id = ?2
  and suspect = ?8
  and lane = ?7
  and (priority, position, task_id) > (?3, ?4, ?5)
order by priority, position, task_id
limit ?6
