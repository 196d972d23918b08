-- limited_families: the families of roots on a queue some of whose tasks wait until the family may run.
-- params: 1 queue_id
-- index:  task_bucket_idx; roots by number
select distinct task.root_id
from task
join task as root on root.id = task.root_id
where task.bucket = 'limit'
  and task.bucket is not null
  and root.queue_id = ?1
order by task.root_id
