-- active: fan-outs with open children that their tasks wait for, and in how many families; of so many tasks that wait.
-- params: 1 page
-- index:  task_bucket_idx, fan_out_open_idx
select count(*),
       count(distinct fan_out.root_id)
from (
    select id
    from task
    where bucket in ('waiting', 'outside', 'asleep')
      and bucket is not null
    limit ?1
) as waiting
cross join fan_out
    on fan_out.task_id = waiting.id
   and fan_out.total > fan_out.completed + fan_out.failed + fan_out.cancelled
