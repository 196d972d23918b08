-- ready: whether a command has a task on a queue that is open, held by others, to be tried again, or waiting for its
-- children.
-- params: 1 queue_id, 2 command_id
-- index:  task_ready_idx, task_bucket_idx, task_suspect_idx lane by lane
select exists (
           select 1
           from open_task
           where queue_id = ?1
             and command_id = ?2
       )
       or exists (
           select 1
           from task
           where bucket in ('after', 'limit', 'key', 'waiting', 'asleep', 'outside', 'backoff')
             and bucket is not null
             and queue_id = ?1
             and command_id = ?2
       )
