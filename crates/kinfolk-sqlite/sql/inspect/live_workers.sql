-- live_workers: how many workers have a live lease.
-- params: 1 now
-- index:  the whole table, which is small
select count(*)
from worker
where lease_until >= ?1
