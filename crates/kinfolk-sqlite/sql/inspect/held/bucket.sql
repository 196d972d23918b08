-- bucket: how many tasks of a queue are in a bucket, counted so far.
-- params: 1 queue_id, 2 bucket, 3 page
-- index:  task_bucket_idx, alone
select count(*)
from (
    select 1
    from task
    where bucket = ?2
      and bucket is not null
      and queue_id = ?1
    limit ?3
)
