-- errors: the commands and queues that are meant. Both tables are small.
-- params: 1 command or null, 2 queue or null
select c.id,
       q.id
from command c
join queue q
where (?1 is null or c.name = ?1)
    and (?2 is null or q.name = ?2)
