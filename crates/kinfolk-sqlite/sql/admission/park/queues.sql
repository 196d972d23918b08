-- queues: where tasks wait behind the keys of a group.
-- params: 1 group_id
-- index:  task_parked_idx, alone
select distinct queue_id
from task
where parked_group = ?1
  and parked_group is not null
