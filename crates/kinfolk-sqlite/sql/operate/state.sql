-- state: where a task is, and who has it.
-- params: 1 id
-- index:  by number
select state,
       worker,
       queue_id
from task
where id = ?1
