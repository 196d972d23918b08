-- fence: how many checkpoints a running task has, if the token holds.
-- params: 1 id, 2 token
-- index:  by number
select steps
from task
where id = ?1
  and token = ?2
  and state = 'running'
