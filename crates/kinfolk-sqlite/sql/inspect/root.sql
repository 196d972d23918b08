-- root: the root of a task's family.
-- params: 1 id
-- index:  by number
select coalesce(root_id, id)
from task
where id = ?1
