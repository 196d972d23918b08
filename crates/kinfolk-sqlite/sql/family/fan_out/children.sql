-- children: the states and results of the children of a fan-out, in the order in which they were given, from the nth on.
-- params: 1 fan_out_id, 2 nth, 3 page
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
  and nth >= ?2
order by nth
limit ?3
