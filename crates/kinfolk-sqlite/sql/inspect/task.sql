-- task: one task, all of it.
-- params: 1 id
-- index:  by number
select id,
       command_id,
       queue_id,
       state,
       gate,
       priority,
       due,
       place,
       attempt,
       max_attempts,
       timeout,
       coalesce(
           payload,
           (
               select large_payload.payload
               from large_payload
               where task_id = task.id
           )
       ) as payload,
       result,
       failure,
       unique_key,
       key_until,
       created_at,
       started_at,
       finished_at,
       cancel_requested_at,
       worker,
       suspect,
       strikes,
       trace
from task
where id = ?1
