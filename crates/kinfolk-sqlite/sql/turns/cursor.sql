-- cursor: the value whose turn was last on a queue.
-- params: 1 queue_id
-- index:  by number
select fair_cursor
from queue
where id = ?1
