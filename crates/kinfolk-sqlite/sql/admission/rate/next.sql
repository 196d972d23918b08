-- next: the earliest moment at which a key is to be looked at again that tasks of a queue and of these commands wait
-- behind.
-- params: 1 queue_id, 2 commands (JSON array of numbers)
-- index:  spent_wakes_idx, from its first entry on; task_blocked_idx
select wakes_at
from spent
where wakes_at is not null
  and exists (
      select 1
      from task
      where task.blocked_group = spent.group_id
        and task.blocked_key = spent.key
        and task.blocked_group is not null
        and task.queue_id = ?1
        and task.command_id in (select value from json_each(?2))
  )
order by wakes_at
limit 1
