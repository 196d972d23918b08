-- keep: room of a key is kept for a task.
-- params: 1 group_id, 2 key, 3 task_id
insert into reserved (group_id, key, task_id)
values (?1, ?2, ?3)
