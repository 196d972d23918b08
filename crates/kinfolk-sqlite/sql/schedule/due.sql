-- due: the schedules whose tick has come.
-- params: 1 now
-- index:  schedule_due_idx
select name,
       cron,
       zone,
       task,
       missed,
       overlap,
       paused,
       next_at,
       last_at,
       last_task,
       declared_at
from schedule
where paused = 0
  and next_at <= ?1
order by next_at, name
