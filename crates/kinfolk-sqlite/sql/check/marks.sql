-- marks: marks of tasks that wait behind no key, or stand elsewhere.
-- params: none
-- index:  the whole table; tasks by number
select ready_mark.task_id,
       'is ' || coalesce(task.state, 'gone') || ', gate ' || coalesce(task.gate, 'none')
from ready_mark
left join task on task.id = ready_mark.task_id
where task.blocked_group is null
   or task.queue_id <> ready_mark.queue_id
   or task.command_id <> ready_mark.command_id
   or task.suspect <> ready_mark.suspect
   or task.lane <> ready_mark.lane
   or task.priority <> ready_mark.priority
   or task.position <> ready_mark.position
