-- fan_outs: the sets of children that a task has.
-- params: 1 task_id
-- index:  fan_out_task_idx, alone
select id
from fan_out
where task_id = ?1
order by id
