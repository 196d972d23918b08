-- active: fan-outs with open children that their tasks wait for, and in how many families.
-- params: none
-- index:  task_shelf_idx, fan_out_open_idx
select count(*),
       count(distinct fan_out.root_id)
from task
cross join fan_out
    on fan_out.task_id = task.id
   and fan_out.total > fan_out.completed + fan_out.failed + fan_out.cancelled
where task.shelf in ('waiting', 'outside', 'asleep')
  and task.shelf is not null
