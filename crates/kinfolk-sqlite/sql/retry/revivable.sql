-- revivable: the children of a fan-out that failed or were cancelled, and have no children: the number of each, and its nth.
-- params: 1 fan_out_id
-- index:  task_child_idx; fan-outs by task
select id,
       nth,
       state
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and ((state = 'failed' and outcome is null) or state = 'cancelled')
  and not exists (
      select 1
      from fan_out
      where fan_out.task_id = task.id
  )
order by nth
