-- whereabouts: the queue and state of a task, its worker and its family.
-- params: 1 id
-- index:  by number
select state,
       gate,
       worker,
       queue_id,
       fan_out_id,
       parent_id,
       coalesce(root_id, id),
       lane,
       outcome,
       nth,
       was_suspended
from task
where id = ?1
