-- follow_up: remove what is known of the families that a task waited for.
-- params: 1 task_id
-- index:  by task and root
delete from follow_up
where task_id = ?1
