-- revivable: of the children of a fan-out that have no children: how many failed, how many were cancelled, and which is the
-- first of them.
-- params: 1 fan_out_id
-- index:  task_child_idx; fan-outs by task
select coalesce(sum(state = 'failed'), 0),
       coalesce(sum(state = 'cancelled'), 0),
       min(nth)
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and ((state = 'failed' and outcome is null) or state = 'cancelled')
  and not exists (
      select 1
      from fan_out
      where fan_out.task_id = task.id
  )
