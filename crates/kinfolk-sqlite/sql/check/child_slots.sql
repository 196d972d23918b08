-- child_slots: tasks that count for a child_limit and are not running children.
-- params: none
-- index:  task_child_slot_idx
select id,
       'is ' || state || ' in lane ' || lane
from task
where child_slot = 1
  and (state <> 'running' or lane <> 'child')
