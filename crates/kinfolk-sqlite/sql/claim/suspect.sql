-- suspect: the first open suspect of one command in one lane of a queue.
-- params: 1 queue_id, 2 lane, 3 command_id
-- index:  task_suspect_idx, alone
select priority,
       place,
       id
from task
where queue_id = ?1
  and lane = ?2
  and command_id = ?3
  and gate = 'open'
  and suspect = 1
order by priority, place, id
limit 1
