-- open: how many tasks of a command on a queue are open, in whatever lane, each sort counted so far. Tasks that take turns are
-- in the lane top, or in their bucket. The query looks at the bucket only where that can change the count: tasks of the lane top
-- are in it too.
-- params: 1 queue_id, 2 command_id, 3 page
-- index:  task_ready_idx, task_bucket_idx and task_suspect_idx
with ready as materialized (
    select count(*) as tasks
    from (
        select 1
        from task
        where queue_id = ?1
          and command_id = ?2
          and gate = 'open'
          and (suspect = 0 and lane = 'top')
        limit ?3
    )
)
select tasks + (
           select count(*)
           from (
               select 1
               from task
               where bucket in ('root', 'child')
                 and bucket is not null
                 and queue_id = ?1
                 and command_id = ?2
               limit ?3
           )
       ) + iif(tasks >= ?3, 0, (
           select count(*)
           from (
               select 1
               from task
               where bucket = 'turn'
                 and bucket is not null
                 and queue_id = ?1
                 and command_id = ?2
                 and lane <> 'top'
                 and suspect = 0
               limit ?3
           )
       )) + (
           select count(*)
           from (
               select 1
               from task
               where queue_id = ?1
                 and lane in ('top', 'root', 'child')
                 and command_id = ?2
                 and gate = 'open'
                 and suspect = 1
               limit ?3
           )
       )
from ready
