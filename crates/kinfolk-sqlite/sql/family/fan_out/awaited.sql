-- awaited: the fan-outs that a suspended task is to be resumed by.
-- params: 1 task_id
-- index:  fan_out_awaited_idx
select id
from fan_out
where task_id = ?1
  and wake_at is not null
order by id
