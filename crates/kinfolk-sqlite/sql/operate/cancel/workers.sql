-- workers: the workers that have running children of a fan-out.
-- params: 1 fan_out_id
-- index:  task_child_idx
select distinct worker
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and worker is not null
