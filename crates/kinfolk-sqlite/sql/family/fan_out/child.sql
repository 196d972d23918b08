-- child: the state and result of one child of a fan-out.
-- params: 1 fan_out_id, 2 nth
-- index:  task_child_idx
select nth,
       id,
       state,
       result,
       failure,
       attempt
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and nth = ?2
