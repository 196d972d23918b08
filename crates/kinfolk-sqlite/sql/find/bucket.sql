-- bucket: the tasks of a queue in a bucket.
-- params: 1 queue_id, 2 and 3 the least and the largest command_id, 4 page, 5 bucket
-- index:  task_bucket_idx, alone
select id
from task
where bucket = ?5
  and bucket is not null
  and queue_id = ?1
  and command_id between ?2 and ?3
limit ?4
