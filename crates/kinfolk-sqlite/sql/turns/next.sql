-- next: the next open task of a command that has this value, behind a given one, in a lane that has room; no suspect where
-- the worker may not take one.
-- params: 1 queue_id, 2 command_id, 3 priority, 4 value, 5 position, 6 id, 7 whether top has room, 8 whether child has,
--         9 whether a suspect may be taken
-- index:  task_fair_idx
select position,
       id,
       lane,
       suspect
from task
where bucket = 'turn'
  and queue_id = ?1
  and command_id = ?2
  and priority = ?3
  and fair = ?4
  and (position, id) > (?5, ?6)
  and (?7 or lane <> 'top')
  and (?8 or lane <> 'child')
  and (?9 or suspect = 0)
order by position, id
limit 1
