-- A task as it is shown.

create view task_shown as
select id,
       command_id,
       queue_id,
       state,
       gate,
       priority,
       due,
       position,
       attempt,
       max_attempts,
       timeout,
       coalesce(
           payload,
           (
               select large_payload.payload
               from large_payload
               where large_payload.task_id = task.id
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
       token,
       runs,
       suspect,
       strikes,
       trace,
       parent_id,
       coalesce(root_id, id) as root_id,
       depth,
       outcome,
       fan_out_id,
       nth,
       steps,
       signals,
       report,
       keys,
       holds_slots,
       iif(
           runs > 0,
           coalesce(
               (
                   select attempt.started_at
                   from attempt
                   where attempt.task_id = task.id
                     and attempt.run = 1
               ),
               started_at
           ),
           null
       ) as first_started_at,
       ran_before,
       made_by,
       follows
from task;
