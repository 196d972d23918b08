-- queues: where tasks wait behind the keys of a group.
-- params: 1 group_id
-- index:  task_blocked_idx, alone
select distinct queue_id
from task
where blocked_group = ?1
  and blocked_group is not null
