-- limited_queues: where the tasks of a family are that wait until it may run.
-- params: 1 root_id
-- index:  task_held_idx
select distinct queue_id
from task indexed by task_held_idx
where root_id = ?1
  and bucket = 'limit'
