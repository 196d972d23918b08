-- replace: give a task that has never started another payload.
-- params: 1 id, 2 payload
-- index:  by number
update task
set payload = ?2
where id = ?1
