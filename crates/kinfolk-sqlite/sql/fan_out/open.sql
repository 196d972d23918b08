-- open: the fan-outs of a task that have open children.
-- params: 1 task_id
-- index:  fan_out_open_idx, alone
select id
from fan_out
where task_id = ?1
  and completed + failed + cancelled < total
order by id
