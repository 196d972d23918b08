-- workers: the ids of all workers, to see whose process is dead.
-- params: none
-- index:  the whole table, which is small
select id
from worker
