-- any: whether tasks wait behind any key of a group.
-- params: 1 group_id
-- index:  task_blocked_idx, alone
select 1
from task
where blocked_group = ?1
  and blocked_group is not null
limit 1
