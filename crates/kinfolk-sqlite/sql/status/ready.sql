-- ready: whether a command has a task on a queue that is open, held by others, or waiting for its children.
-- params: 1 queue_id, 2 command_id
-- index:  task_ready_idx, task_lane_idx, task_suspect_idx, task_held_idx, task_waiting_idx, lane by lane
select exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and gate = 'open'
             and suspect = 0
             and lane = 'top'
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and gate = 'open'
             and suspect = 0
             and lane = 'root'
             and lane <> 'top'
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and gate = 'open'
             and suspect = 0
             and lane = 'child'
             and lane <> 'top'
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and gate = 'open'
             and suspect = 1
             and lane = 'top'
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and gate = 'open'
             and suspect = 1
             and lane = 'root'
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and gate = 'open'
             and suspect = 1
             and lane = 'child'
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and (gate = 'limit' or gate = 'after')
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and state = 'waiting'
             and lane = 'top'
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and state = 'waiting'
             and lane = 'root'
       )
       or exists (
           select 1
           from task
           where queue_id = ?1
             and command_id = ?2
             and state = 'waiting'
             and lane = 'child'
       )
