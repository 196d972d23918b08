-- skip: note which families spoiled a follow-up, before it forgets whom it waited for.
-- params: 1 task_id
-- index:  by task and root
insert into skipped_follow_up (task_id, root_id, ended)
select task_id,
       root_id,
       ended
from follow_up
where task_id = ?1
  and needs_completed = 1
  and ended <> 'completed'
