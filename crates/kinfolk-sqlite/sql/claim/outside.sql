-- outside: roots that wait and whose families may not run, in their order.
-- params: 1 queue_id, 2 page
-- index:  task_waiting_idx; there are few
select id
from task
where queue_id = ?1
  and lane = 'top'
  and state = 'waiting'
order by priority, place, id
limit ?2
