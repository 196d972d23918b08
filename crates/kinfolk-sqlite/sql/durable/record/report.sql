-- report: how far a running task has come, if the token holds.
-- params: 1 id, 2 token, 3 report
-- index:  by number
update task
set report = ?3
where id = ?1
  and token = ?2
  and state = 'running'
