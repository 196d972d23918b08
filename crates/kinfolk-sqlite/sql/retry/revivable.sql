-- revivable: how many children of a fan-out failed by themselves, how many were skipped because of that, and which is
-- the first of both.
-- params: 1 fan_out_id
-- index:  task_child_idx
select coalesce(sum(state = 'failed'), 0),
       coalesce(sum(state = 'cancelled'), 0),
       min(nth)
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and (
      (state = 'failed' and outcome is null)
      or (state = 'cancelled' and failure ->> '$.kind' = 'skipped')
  )
