-- fan_out: children made at once, and how they are doing.
-- params: 1 id
-- index:  by number
select task_id,
       root_id,
       depth,
       child_order,
       total,
       completed,
       failed,
       cancelled,
       held,
       waits
from fan_out
where id = ?1
