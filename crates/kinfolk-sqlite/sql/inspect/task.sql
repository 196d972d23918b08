-- task: one task, all of it.
-- params: 1 id
-- index:  by number
select *
from task_shown
where id = ?1
