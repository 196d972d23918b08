-- finished_at: when one child of a fan-out ended.
-- params: 1 fan_out_id, 2 nth
-- index:  task_child_idx
select finished_at
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and nth = ?2
