-- due: tasks with an open gate that are not due.
-- params: 1 now
-- index:  task_ready_idx, task_suspect_idx
select id,
       'is open and due at ' || due
from task
where gate = 'open'
  and due > ?1
