-- settled: follow-ups on a queue all of whose families have settled, by number; when they are due, and the first family
-- that should have been completed and was not.
-- params: 1 queue_id, 2 page
-- index:  follow_up_ended_idx; each one's families by task and root, and it by number
select follow_up.task_id,
       task.due,
       min(iif(follow_up.needs_completed = 1 and follow_up.ended <> 'completed', follow_up.root_id, null))
from follow_up
join task on task.id = follow_up.task_id
where follow_up.queue_id = ?1
  and follow_up.ended is not null
  and not exists (
      select 1
      from follow_up as other
      where other.task_id = follow_up.task_id
        and other.ended is null
  )
group by follow_up.task_id
order by follow_up.task_id
limit ?2
