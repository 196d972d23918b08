-- claimable: whether a command has a task on a queue that a worker could take now, or as soon as there is room.
-- params: 1 queue_id, 2 command_id, 3 now
-- index:  task_ready_idx, task_bucket_idx, task_suspect_idx lane by lane, task_due_idx up to now
select exists (
           select 1
           from open_task
           where queue_id = ?1
             and command_id = ?2
       )
       or exists (
           select 1
           from task
           where bucket in ('limit', 'key')
             and bucket is not null
             and queue_id = ?1
             and command_id = ?2
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and gate = 'time'
             and due <= ?3
             and command_id = ?2
       )
