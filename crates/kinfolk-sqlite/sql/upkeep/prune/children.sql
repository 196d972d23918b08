-- children: the last children of a fan-out, and how they ended.
-- params: 1 fan_out_id, 2 page
-- index:  task_child_idx
select id,
       state
from task
where fan_out_id = ?1
  and fan_out_id is not null
order by nth desc
limit ?2
