-- forget: a follow-up waits for no family any more.
-- params: 1 task_id
-- index:  by task and root
delete from follow_up
where task_id = ?1
