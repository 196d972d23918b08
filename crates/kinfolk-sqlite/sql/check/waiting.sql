-- waiting: tasks whose own work is done that wait for no open child.
-- params: none
-- index:  the whole table; fan-outs by task
select task.id,
       'waits for nothing'
from task
where task.state = 'waiting'
  and task.outcome is not null
  and not exists (
      select 1
      from fan_out
      where fan_out.task_id = task.id
        and fan_out.waits = 1
        and fan_out.completed + fan_out.failed + fan_out.cancelled < fan_out.total
  )
