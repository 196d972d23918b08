-- reserved: room that is kept for a task which is not pending.
-- params: none
-- index:  the whole table; tasks by number
select reserved.task_id,
       'is ' || coalesce(task.state, 'gone') || ', and a slot of ' || reserved.key || ' is kept for it'
from reserved
left join task on task.id = reserved.task_id
where task.state is not 'pending'
