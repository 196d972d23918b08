-- waits: fan-outs that say their task has done its own work and waits for them though it does not.
-- params: none
-- index:  the whole table; tasks by number
select fan_out.task_id,
       'is ' || coalesce(task.state, 'gone')
from fan_out
left join task on task.id = fan_out.task_id
where fan_out.waits = 1
  and (task.state is not 'waiting' or task.outcome is null)
