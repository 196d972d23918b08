-- wait_for: a follow-up waits for a family, even if that one had ended once before.
-- params: 1 task_id, 2 root_id, 3 needs_completed
-- index:  by task and root; the task by number
insert into follow_up (task_id, root_id, needs_completed, queue_id)
select id,
       ?2,
       ?3,
       queue_id
from task
where id = ?1
on conflict (task_id, root_id) do update
set needs_completed = max(needs_completed, excluded.needs_completed),
    ended           = null
