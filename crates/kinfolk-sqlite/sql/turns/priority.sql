-- priority: the next priority at which a command has open tasks on a queue whose tasks take turns.
-- params: 1 queue_id, 2 command_id, 3 priority
-- index:  task_fair_idx, alone
select priority
from task
where bucket = 'turn'
  and queue_id = ?1
  and command_id = ?2
  and priority > ?3
order by priority
limit 1
