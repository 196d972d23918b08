-- look: the work for a claim beside the lane top: follow-ups whose families have settled, other lanes, and
-- suspects that this worker might take; it takes none while it runs one.
-- params: 1 queue_id, 2 worker
-- index:  follow_up_ended_idx, task_bucket_idx, task_suspect_idx, task_running_idx
select exists (
           select 1
           from follow_up
           where queue_id = ?1
             and ended is not null
       ),
       exists (
           select 1
           from task
           where (bucket = 'root' or bucket = 'child')
             and bucket is not null
             and queue_id = ?1
       ),
       exists (
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
