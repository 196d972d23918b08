-- payload: remove the large payload of a task, if it has one.
-- params: 1 task_id
-- index:  by number
delete from large_payload
where task_id = ?1
