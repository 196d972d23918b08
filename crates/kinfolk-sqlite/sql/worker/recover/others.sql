-- others: all workers but one, and whether their lease has run out.
-- params: 1 worker, 2 now
-- index:  by id; there are few workers
select id,
       lease_until < ?2
from worker
where id <> ?1
order by id
