-- there: whether a task has been sent a signal that it waits for.
-- params: 1 id
-- index:  by number; its signals by task and name
select 1
from task
join json_each(task.signals) as awaited
join signal on signal.task_id = task.id and signal.name = awaited.value
where task.id = ?1
limit 1
