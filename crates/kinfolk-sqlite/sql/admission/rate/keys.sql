-- keys: the command and the keys of a task.
-- params: 1 id
-- index:  by number
select command_id,
       keys
from task
where id = ?1
