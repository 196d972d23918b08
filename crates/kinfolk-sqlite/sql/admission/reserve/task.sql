-- task: the queue, the command and the keys of a task that room is kept for.
-- params: 1 id
-- index:  by number
select queue_id,
       command_id,
       keys
from task
where id = ?1
