-- command: what one task runs.
-- params: 1 id
-- index:  by number
select command_id
from task
where id = ?1
