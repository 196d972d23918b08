-- at_work: the first families at work on a queue, by the numbers of their roots.
-- params: 1 queue_id, 2 page
-- index:  task_at_work_idx, alone
select id
from task
where queue_id = ?1
  and lane = 'root'
order by id
limit ?2
