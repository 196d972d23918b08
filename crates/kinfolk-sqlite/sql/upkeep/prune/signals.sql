-- signals: remove what a task was sent and did not take.
-- params: 1 task_id
-- index:  signal_task_idx
delete from signal
where task_id = ?1
