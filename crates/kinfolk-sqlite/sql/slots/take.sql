-- take: a task holds a slot of a key.
-- params: 1 group_id, 2 key, 3 task_id
insert into slot_holder (group_id, key, task_id)
values (?1, ?2, ?3)
