-- owner: what a verdict needs to know of the task whose children they are.
-- params: 1 id
-- index:  by number
select steps,
       queue_id,
       root_id
from task
where id = ?1
