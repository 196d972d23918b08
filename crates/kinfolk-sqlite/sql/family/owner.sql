-- owner: a task that waits for its children, as far as joining it needs to know.
-- params: 1 id
-- index:  by number
select state,
       outcome,
       queue_id,
       fan_out_id,
       lane,
       nth,
       was_suspended,
       holds_slots,
       command_id,
       keys
from task
where id = ?1
