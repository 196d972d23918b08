-- suspect: the first open suspect of one command on one queue.
-- params: 1 queue_id, 2 command_id
-- index:  task_suspect_idx, alone
select priority,
       place,
       id
from task
where queue_id = ?1
  and command_id = ?2
  and gate = 'open'
  and suspect = 1
order by priority, place, id
limit 1
