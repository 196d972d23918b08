-- judge: whether a worker has renewed without a gap for a full lease, up to now, and so may judge others.
-- params: 1 worker, 2 now
-- index:  by id
select ?2 - steady_since >= lease
    and ?2 <= lease_until
from worker
where id = ?1
