-- any_of_key: whether tasks wait behind a key.
-- params: 1 group_id, 2 key
-- index:  task_parked_idx, alone
select 1
from task
where parked_group = ?1
  and parked_key = ?2
  and parked_group is not null
limit 1
