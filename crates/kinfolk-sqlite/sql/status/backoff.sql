-- backoff: a task of a command that is to be tried again.
-- params: 1 command_id
-- index:  task_backoff_idx
select 1
from task
where command_id = ?1
  and gate = 'time'
  and runs > 0
