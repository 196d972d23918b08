-- facts: the facts about a task that a decision needs.
-- params: 1 id
-- index:  by number
select state,
       token,
       worker,
       command_id,
       queue_id,
       attempt,
       max_attempts,
       runs,
       suspect,
       strikes,
       started_at,
       due,
       cancel_requested_at is not null,
       failure,
       lane,
       fan_out_id,
       child_slot,
       nth,
       steps,
       was_suspended,
       holds_slots,
       keys
from task
where id = ?1
