-- counts: how many tasks of each command on each queue are pending or waiting, each sort of them counted so far. Suspended tasks
-- that have a timer wait: they do not count as pending. Tasks that take turns are in the lane top, or in their bucket:
-- the bucket is looked at only where that can change the count, since tasks of the lane top are in it too.
-- params: 1 page
-- index:  task_ready_idx, task_suspect_idx, task_later_idx, task_bucket_idx, each alone but for tasks that take turns
with ready as materialized (
    select queue.id as queue_id,
           command.id as command_id,
           (
               select count(*)
               from (
                   select 1
                   from task
                   where queue_id = queue.id
                     and command_id = command.id
                     and gate = 'open'
                     and (suspect = 0 and lane = 'top')
                   limit ?1
               )
           ) as tasks
    from queue
    cross join command
)
select queue_id,
       command_id,
       'pending',
       tasks + (
           select count(*)
           from (
               select 1
               from task
               where queue_id = ready.queue_id
                 and lane in ('top', 'root', 'child')
                 and command_id = ready.command_id
                 and gate = 'open'
                 and suspect = 1
               limit ?1
           )
       ) + (
           select count(*)
           from (
               select 1
               from task
               where queue_id = ready.queue_id
                 and command_id = ready.command_id
                 and gate = 'time'
                 and state = 'pending'
               limit ?1
           )
       ) + (
           select count(*)
           from (
               select 1
               from task
               where bucket in ('root', 'child', 'after', 'limit', 'key')
                 and bucket is not null
                 and queue_id = ready.queue_id
                 and command_id = ready.command_id
               limit ?1
           )
       ) + iif(tasks >= ?1, 0, (
           select count(*)
           from (
               select 1
               from task
               where bucket = 'turn'
                 and bucket is not null
                 and queue_id = ready.queue_id
                 and command_id = ready.command_id
                 and lane <> 'top'
                 and suspect = 0
               limit ?1
           )
       )) as tasks
from ready
union all
select queue_id,
       command_id,
       'waiting',
       (
           select count(*)
           from (
               select 1
               from task
               where bucket in ('waiting', 'outside', 'asleep')
                 and bucket is not null
                 and queue_id = ready.queue_id
                 and command_id = ready.command_id
               limit ?1
           )
       )
from ready
