-- next_key: the next key of a group that tasks wait behind.
-- params: 1 group_id, 2 key
-- index:  task_blocked_idx, alone
select blocked_key
from task
where blocked_group = ?1
  and blocked_group is not null
  and blocked_key > ?2
order by blocked_key
limit 1
