-- outside: roots that wait and whose families have to be let in again, in their order.
-- params: 1 queue_id, 2 page
-- index:  task_bucket_idx; there are few
select id
from task
where bucket = 'outside'
  and bucket is not null
  and queue_id = ?1
order by priority, position, id
limit ?2
