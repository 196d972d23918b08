-- task: what holds a task, beyond what is shown of it.
-- params: 1 id
-- index:  by number
select lane,
       blocked_group is not null,
       fan_out_id,
       nth,
       command_id,
       queue_id,
       keys
from task
where id = ?1
