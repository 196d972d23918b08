-- any_of_key: whether tasks wait behind a key.
-- params: 1 group_id, 2 key
-- index:  task_blocked_idx, alone
select 1
from task
where blocked_group = ?1
  and blocked_key = ?2
  and blocked_group is not null
limit 1
