-- line: the stand of a pending task, the key that it waits behind if it does, and its other columns of groups.
-- params: 1 id
-- index:  by number
select queue_id,
       command_id,
       suspect,
       lane,
       priority,
       position,
       blocked_group,
       blocked_key,
       holds_slots,
       keys,
       failed_tries
from task
where id = ?1
