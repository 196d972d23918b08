-- awaited: the signals that a task waits for.
-- params: 1 id
-- index:  by number
select signals
from task
where id = ?1
