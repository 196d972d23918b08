-- runs: the latest runs of a task, newest first: the recorded runs, and the one that goes on or completed it at once,
-- which is in the task's own row. Its own work ended then when its first child was made, if there is one.
-- params: 1 task_id, 2 page
-- index:  by task and run, by number, task_child_idx
select id as task_id,
       runs as run,
       attempt,
       started_at,
       iif(
           state = 'running',
           null,
           coalesce(
               (
                   select child.created_at
                   from task as child
                   where child.fan_out_id = task.id
                     and child.fan_out_id is not null
                     and child.nth = 0
               ),
               finished_at
           )
       ) as ended_at,
       ran_by as worker,
       iif(state = 'running', null, 'completed') as ending,
       null as failure,
       null as awaited,
       null as until,
       null as signals
from task
where id = ?1
  and started_at is not null
  and not exists (
      select 1
      from attempt
      where attempt.task_id = task.id
        and attempt.run = task.runs
  )
union all
select task_id,
       run,
       attempt,
       started_at,
       ended_at,
       worker,
       ending,
       failure,
       awaited,
       until,
       signals
from attempt
where task_id = ?1
order by run desc
limit ?2
