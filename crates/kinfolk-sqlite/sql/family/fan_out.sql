-- fan_out: children made at once, and how they are doing.
-- params: 1 id
-- index:  by number
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
where id = ?1
