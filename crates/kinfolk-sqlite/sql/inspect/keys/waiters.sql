-- waiters: how many tasks wait behind a key.
-- params: 1 group_id, 2 key
-- index:  task_parked_idx, alone
select count(*)
from task
where parked_group = ?1
  and parked_key = ?2
  and parked_group is not null
