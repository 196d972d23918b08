-- steps: a running task has this many checkpoints.
-- params: 1 id, 2 steps
-- index:  by number
update task
set steps = ?2
where id = ?1
