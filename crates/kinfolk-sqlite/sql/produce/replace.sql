-- replace: give a task that has never started another payload.
-- params: 1 id, 2 payload, or null when it is large
-- index:  by number
update task
set payload = ?2
where id = ?1
