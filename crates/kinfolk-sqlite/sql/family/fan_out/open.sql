-- open: the fan-outs of a task that have open children.
-- params: 1 task_id
-- index:  fan_out_open_idx
select id
from fan_out
where task_id = ?1
  and total > completed + failed + cancelled
order by id
