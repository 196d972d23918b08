-- of_task: the fan-outs of a task, oldest first, and how they are doing.
-- params: 1 task_id
-- index:  fan_out_task_idx
select task_id,
       root_id,
       depth,
       child_order,
       total,
       completed,
       failed,
       cancelled,
       held,
       waits,
       rule,
       parts,
       verdict,
       decided_at,
       decided_step,
       wake_at,
       deadline,
       cancel_on_failure,
       created_at,
       id,
       settled_at
from fan_out
where task_id = ?1
order by id
