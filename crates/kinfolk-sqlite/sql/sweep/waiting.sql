-- waiting: the next tasks that wait, behind a given one.
-- params: 1 id, 2 page
-- index:  task_shelf_idx
select id
from task
where (shelf = 'waiting' or shelf = 'asleep' or shelf = 'outside')
  and shelf is not null
  and id > ?1
order by id
limit ?2
