-- head: where the first open tasks of one command on one queue stand, lane by lane.
-- params: 1 queue_id, 2 command_id
-- index:  task_ready_idx, task_bucket_idx and task_suspect_idx, the first entry of each lane
select *
from (
    select priority,
           position,
           id
    from task
    where queue_id = ?1
      and command_id = ?2
      and gate = 'open'
      and suspect = 0
      and lane = 'top'
    order by priority, position, id
    limit 1
)
union all
select *
from (
    select priority,
           position,
           id
    from task
    where bucket = 'root'
      and bucket is not null
      and queue_id = ?1
      and command_id = ?2
    order by priority, position, id
    limit 1
)
union all
select *
from (
    select priority,
           position,
           id
    from task
    where bucket = 'child'
      and bucket is not null
      and queue_id = ?1
      and command_id = ?2
    order by priority, position, id
    limit 1
)
union all
select *
from (
    select priority,
           position,
           id
    from task
    where queue_id = ?1
      and lane = 'top'
      and command_id = ?2
      and gate = 'open'
      and suspect = 1
    order by priority, position, id
    limit 1
)
union all
select *
from (
    select priority,
           position,
           id
    from task
    where queue_id = ?1
      and lane = 'root'
      and command_id = ?2
      and gate = 'open'
      and suspect = 1
    order by priority, position, id
    limit 1
)
union all
select *
from (
    select priority,
           position,
           id
    from task
    where queue_id = ?1
      and lane = 'child'
      and command_id = ?2
      and gate = 'open'
      and suspect = 1
    order by priority, position, id
    limit 1
)
union all
select *
from (
    select priority,
           position,
           id
    from task
    where bucket = 'turn'
      and bucket is not null
      and queue_id = ?1
      and command_id = ?2
    order by priority, position, id
    limit 1
)
