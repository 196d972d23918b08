-- was_suspended: tasks with children that run or are in line, or with fan-outs that they await, though they were never suspended.
-- params: none
-- index:  the whole table; tasks by number
select task.id,
       'is ' || task.state || ' and has fan-out ' || fan_out.id
from fan_out
join task on task.id = fan_out.task_id
where task.was_suspended = 0
  and (task.state = 'running' or task.state = 'pending' or fan_out.rule is not null)
