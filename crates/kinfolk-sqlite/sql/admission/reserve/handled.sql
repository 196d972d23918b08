-- handled: whether a live worker handles a command on a queue.
-- params: 1 now, 2 name of the queue, 3 name of the command
-- index:  the whole table, which is small
select 1
from worker
where lease_until >= ?1
  and exists (select 1 from json_each(worker.queues) where value = ?2)
  and exists (select 1 from json_each(worker.commands) where value = ?3)
