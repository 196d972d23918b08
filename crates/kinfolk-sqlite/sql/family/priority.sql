-- priority: a task's priority, which its children inherit.
-- params: 1 id
-- index:  by number
select priority
from task
where id = ?1
