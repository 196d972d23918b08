-- lane: the next open tasks of one command in another lane of a queue, in their order, behind a given one.
-- params: 1 queue_id, 2 command_id, 3 priority, 4 place, 5 id, 6 page, 7 lane
-- index:  task_shelf_idx, alone
select priority,
       place,
       id
from task
where shelf = ?7
  and shelf is not null
  and queue_id = ?1
  and command_id = ?2
  and (priority, place, id) > (?3, ?4, ?5)
order by priority, place, id
limit ?6
