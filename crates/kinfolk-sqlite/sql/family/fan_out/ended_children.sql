-- ended_children: the children of a fan-out that have ended.
-- params: 1 fan_out_id
-- index:  task_child_idx
select nth
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and finished_at is not null
order by nth
