-- value: the next value, from this one on, that an open task of a command has.
-- params: 1 queue_id, 2 command_id, 3 priority, 4 value
-- index:  task_fair_idx, alone
select fair
from task
where bucket = 'turn'
  and queue_id = ?1
  and command_id = ?2
  and priority = ?3
  and fair >= ?4
order by fair
limit 1
