-- read: the store's row.
-- params: none
-- index:  by number
select clock,
       last_task,
       catalogue,
       cancels
from store
where id = 1
