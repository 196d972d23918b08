-- waiting: the next tasks that wait for their children, behind a given one.
-- params: 1 id, 2 page
-- index:  task_waiting_idx
select id
from task
where state = 'waiting'
  and id > ?1
order by id
limit ?2
