-- taken: a task as its worker sees it, after it was taken.
-- params: 1 id
-- index:  by number
select id,
       command_id,
       attempt,
       max_attempts,
       timeout,
       trace,
       payload,
       parent_id,
       root_id,
       depth,
       steps,
       holds_slots,
       keys,
       iif(runs = 1, max(started_at - due, 0), null) as waited
from task_shown
where id = ?1
