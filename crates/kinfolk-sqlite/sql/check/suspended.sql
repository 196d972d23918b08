-- suspended: suspended tasks that nothing would resume, or for which something is there already.
-- params: none
-- index:  the whole table; fan-outs by task, signals by task and name
select task.id,
       'is suspended and waits for nothing'
from task
where task.state = 'waiting'
  and task.outcome is null
  and task.gate is null
  and task.signals is null
  and not exists (
      select 1
      from fan_out
      where fan_out.task_id = task.id
        and fan_out.wake_at is not null
  )
union all
select fan_out.task_id,
       'is to be resumed by fan-out ' || fan_out.id
from fan_out
where fan_out.wake_at is not null
  and (fan_out.verdict is not null or fan_out.completed + fan_out.failed + fan_out.cancelled >= fan_out.wake_at)
union all
select task.id,
       'waits for the signal ' || awaited.value || ', which is there'
from task
join json_each(task.signals) as awaited
where exists (
    select 1
    from signal
    where signal.task_id = task.id
      and signal.name = awaited.value
)
