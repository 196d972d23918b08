-- task: remove a task.
-- params: 1 id
-- index:  by number
delete from task
where id = ?1
