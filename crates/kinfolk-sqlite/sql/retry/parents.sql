-- parents: the next children of a fan-out that have children of their own and failed, or were skipped (or cancelled, if
-- those are to run again too), in their order, behind a given one.
-- params: 1 fan_out_id, 2 nth, 3 page, 4 whether cancelled ones too
-- index:  task_child_idx; fan-outs by task
select id,
       nth
from task
where fan_out_id = ?1
  and fan_out_id is not null
  and nth > ?2
  and (state = 'failed' or (state = 'cancelled' and (?4 or failure ->> '$.kind' = 'skipped')))
  and exists (
      select 1
      from fan_out
      where fan_out.task_id = task.id
  )
order by nth
limit ?3
