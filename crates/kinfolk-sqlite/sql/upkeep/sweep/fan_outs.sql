-- fan_outs: the fan-outs that a task waits for: whether the wait is over by their counts, and how many children they
-- have and have counted.
-- params: 1 task_id
-- index:  fan_out_task_idx
select id,
       wake_at is not null and (verdict is not null or completed + failed + cancelled >= wake_at),
       total,
       completed,
       failed,
       cancelled
from fan_out
where task_id = ?1
  and (wake_at is not null or waits = 1)
order by id
