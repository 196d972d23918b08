-- wakes: how often each queue was woken, and by whom last.
-- params: none
-- index:  the whole table, which is small
select name,
       wakes,
       waker
from queue
