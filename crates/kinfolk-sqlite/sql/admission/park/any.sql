-- any: whether tasks wait behind any key of a group.
-- params: 1 group_id
-- index:  task_parked_idx, alone
select 1
from task
where parked_group = ?1
  and parked_group is not null
limit 1
