-- next_key: the next key of a group that tasks wait behind.
-- params: 1 group_id, 2 key
-- index:  task_parked_idx, alone
select parked_key
from task
where parked_group = ?1
  and parked_group is not null
  and parked_key > ?2
order by parked_key
limit 1
