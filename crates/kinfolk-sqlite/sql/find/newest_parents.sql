-- newest_parents: tasks that have children, between two numbers, the highest first.
-- params: 1 after, 2 before, 3 page
-- index:  fan_out_task_idx, alone, downwards
select distinct task_id
from fan_out
where task_id > ?1
  and task_id < ?2
order by task_id desc
limit ?3
