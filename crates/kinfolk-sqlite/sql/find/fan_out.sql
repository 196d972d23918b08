-- fan_out: the children in a fan-out.
-- params: 1 fan_out_id, 2 page
-- index:  task_child_idx, alone
select id
from task
where fan_out_id = ?1
  and fan_out_id is not null
limit ?2
