-- attempts: remove the attempts of a task.
-- params: 1 task_id
-- index:  by task
delete from attempt
where task_id = ?1
