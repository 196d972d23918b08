-- head: where the first open task of one command on one queue stands.
-- params: 1 queue_id, 2 command_id
-- index:  task_ready_idx and task_suspect_idx, the first entry of each
select *
from (
    select priority,
           place,
           id
    from task
    where queue_id = ?1
      and command_id = ?2
      and gate = 'open'
      and suspect = 0
    order by priority, place, id
    limit 1
)
union all
select *
from (
    select priority,
           place,
           id
    from task
    where queue_id = ?1
      and command_id = ?2
      and gate = 'open'
      and suspect = 1
    order by priority, place, id
    limit 1
)
