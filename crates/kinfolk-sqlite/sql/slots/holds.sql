-- holds: whether a task holds a slot of a key.
-- params: 1 group_id, 2 key, 3 task_id
-- index:  slot_holder, by all it has
select 1
from slot_holder
where group_id = ?1
  and key = ?2
  and task_id = ?3
