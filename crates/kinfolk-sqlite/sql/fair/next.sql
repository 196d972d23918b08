-- next: the next open task of a command that has this value, behind a given one.
-- params: 1 queue_id, 2 command_id, 3 priority, 4 value, 5 place, 6 id
-- index:  task_fair_idx
select place,
       id,
       lane,
       suspect
from task
where shelf = 'turn'
  and queue_id = ?1
  and command_id = ?2
  and priority = ?3
  and fair = ?4
  and (place, id) > (?5, ?6)
order by place, id
limit 1
