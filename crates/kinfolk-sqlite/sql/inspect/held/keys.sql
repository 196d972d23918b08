-- keys: how many tasks of a queue wait behind which keys, of all together so many.
-- params: 1 queue_id, 2 page
-- index:  task_bucket_idx
select blocked_group,
       blocked_key,
       count(*)
from (
    select blocked_group,
           blocked_key
    from task
    where bucket = 'key'
      and bucket is not null
      and queue_id = ?1
    limit ?2
)
group by blocked_group, blocked_key
