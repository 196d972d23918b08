-- wait_again: a follow-up that was skipped waits for all families that spoiled it. One of them is set going again, and the
-- others are as they were.
-- params: 1 task_id, 2 root_id that is set going again
-- index:  by task and root; the task by number
insert into follow_up (task_id, root_id, needs_completed, queue_id, ended)
select spoiled.task_id,
       spoiled.root_id,
       1,
       task.queue_id,
       iif(spoiled.root_id = ?2, null, spoiled.ended)
from skipped_follow_up as spoiled
join task on task.id = spoiled.task_id
where spoiled.task_id = ?1
