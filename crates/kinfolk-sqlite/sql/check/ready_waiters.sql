-- ready_waiters: ready waiters that wait behind no key, or are elsewhere in line.
-- params: none
-- index:  the whole table; tasks by number
select ready_waiter.task_id,
       'is ' || coalesce(task.state, 'gone') || ', gate ' || coalesce(task.gate, 'none')
from ready_waiter
left join task on task.id = ready_waiter.task_id
where task.blocked_group is null
   or task.queue_id <> ready_waiter.queue_id
   or task.command_id <> ready_waiter.command_id
   or task.suspect <> ready_waiter.suspect
   or task.lane <> ready_waiter.lane
   or task.priority <> ready_waiter.priority
   or task.position <> ready_waiter.position
