-- orphans: attempts without a task.
-- params: none
-- index:  the whole table, tasks by number
select task_id,
       'run ' || run
from attempt
where not exists (
    select 1
    from task
    where task.id = attempt.task_id
)
