-- lane: the next open tasks of one command in another lane of a queue, in their order, behind a given one.
-- params: 1 queue_id, 2 command_id, 3 priority, 4 position, 5 id, 6 page, 7 lane
-- index:  task_bucket_idx, alone
select priority,
       position,
       id
from task
where bucket = ?7
  and bucket is not null
  and queue_id = ?1
  and command_id = ?2
  and (priority, position, id) > (?3, ?4, ?5)
order by priority, position, id
limit ?6
