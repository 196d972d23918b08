-- live_workers: the workers that have a live lease.
-- params: 1 now
-- index:  the whole table, which is small
select id
from worker
where lease_until >= ?1
