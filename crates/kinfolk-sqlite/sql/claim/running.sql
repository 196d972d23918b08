-- running: what runs under a token, for a claim whose answer was lost.
-- params: 1 worker, 2 token
-- index:  task_running_idx
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
where worker = ?1
  and token = ?2
order by priority, position, id
