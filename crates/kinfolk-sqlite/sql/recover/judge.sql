-- judge: whether a worker has renewed without a gap for a full lease, and so may judge others.
-- params: 1 worker, 2 now
-- index:  by id
select ?2 - steady_since >= lease
from worker
where id = ?1
