-- head: where the first open task of one command on one queue is in line.
-- params: 1 queue_id, 2 command_id
-- index:  task_ready_idx, task_bucket_idx and task_suspect_idx, the first entry of each lane
select priority,
       position,
       id
from open_task
where queue_id = ?1
  and command_id = ?2
order by priority, position, id
limit 1
