-- outside: roots that wait and whose families have to be let in again, in their order.
-- params: 1 queue_id, 2 page
-- index:  task_shelf_idx; there are few
select id
from task
where shelf = 'outside'
  and shelf is not null
  and queue_id = ?1
order by priority, position, id
limit ?2
