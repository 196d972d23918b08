-- fan_outs: the fan-outs of a task in the order of their children, and how many each has.
-- params: 1 task_id
-- index:  fan_out_task_idx
select id,
       total
from fan_out
where task_id = ?1
order by id
