-- look: whether a queue has tasks behind keys that may have room, and whether a worker may take a suspect.
-- params: 1 queue_id, 2 worker
-- index:  ready_mark, by queue; task_running_idx
select exists (
           select 1
           from ready_mark
           where queue_id = ?1
       ),
       not exists (
           select 1
           from task
           where worker = ?2
             and suspect = 1
       )
