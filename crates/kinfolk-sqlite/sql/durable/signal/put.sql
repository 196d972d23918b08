-- put: keep a signal for a task.
-- params: 1 task_id, 2 name, 3 value
insert into signal (task_id, name, value)
values (?1, ?2, ?3)
