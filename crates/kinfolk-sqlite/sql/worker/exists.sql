-- exists: whether a worker is registered.
-- params: 1 worker
-- index:  by id
select 1
from worker
where id = ?1
