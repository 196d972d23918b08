-- recount: how many children a fan-out really has, and how they have ended.
-- params: 1 fan_out_id
-- index:  task_child_idx
select count(*),
       coalesce(sum(state = 'completed'), 0),
       coalesce(sum(state = 'failed'), 0),
       coalesce(sum(state = 'cancelled'), 0)
from task
where fan_out_id = ?1
  and fan_out_id is not null
