-- has_suspects: whether a queue has an open suspect that this worker might take; it takes none while it runs one.
-- params: 1 queue_id, 2 worker
-- index:  task_suspect_idx, task_running_idx
select exists (
           select 1
           from task
           where queue_id = ?1
             and gate = 'open'
             and suspect = 1
       )
       and not exists (
           select 1
           from task
           where worker = ?2
             and suspect = 1
       )
