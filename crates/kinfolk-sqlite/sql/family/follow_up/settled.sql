-- settled: follow-ups on a queue all of whose families have settled, by number; when they are due, and the first family
-- that should have been completed and was not.
-- params: 1 queue_id, 2 page
-- index:  follow_up_ended_idx; each one's families by task and root, and it by number
with looked_at as (
    select distinct task_id
    from follow_up
    where queue_id = ?1
      and ended is not null
)
select looked_at.task_id,
       task.due,
       (
           select min(spoilt.root_id)
           from follow_up as spoilt
           where spoilt.task_id = looked_at.task_id
             and spoilt.needs_completed = 1
             and spoilt.ended <> 'completed'
       )
from looked_at
join task on task.id = looked_at.task_id
where not exists (
    select 1
    from follow_up as other
    where other.task_id = looked_at.task_id
      and other.ended is null
)
order by looked_at.task_id
limit ?2
