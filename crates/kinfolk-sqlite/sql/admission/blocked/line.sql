-- line: where a pending task stands, behind which key it waits if it does, and what else it has from groups.
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
