-- awaiting: fan-outs and signals that a task waits for, though it is not suspended.
-- params: none
-- index:  the whole tables; tasks by number
select fan_out.task_id,
       'is ' || coalesce(task.state, 'gone') || ' and awaits fan-out ' || fan_out.id
from fan_out
left join task on task.id = fan_out.task_id
where fan_out.wake_at is not null
  and not (task.state is 'waiting' and task.outcome is null)
union all
select id,
       'is ' || state || ' and waits for the signals ' || signals
from task
where signals is not null
  and not (state = 'waiting' and outcome is null)
