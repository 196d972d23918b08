-- payload: the payload of one task, wherever it is kept.
-- params: 1 id
-- index:  by number
select payload
from task_shown
where id = ?1
