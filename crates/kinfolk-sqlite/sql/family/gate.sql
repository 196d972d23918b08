-- gate: another gate for a pending task.
-- params: 1 id, 2 gate
-- index:  by number
update task
set gate = ?2
where id = ?1
