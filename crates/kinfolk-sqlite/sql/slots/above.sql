-- above: the holders of a slot of a key among a task and the tasks above it.
-- params: 1 group_id, 2 key, 3 task_id
-- index:  slot_holder, by all it has; tasks by number
with recursive above as (
    select ?3 as id
    union all
    select task.parent_id
    from above
    join task on task.id = above.id
    where task.parent_id is not null
)
select above.id
from above
cross join slot_holder on slot_holder.group_id = ?1 and slot_holder.key = ?2 and slot_holder.task_id = above.id
