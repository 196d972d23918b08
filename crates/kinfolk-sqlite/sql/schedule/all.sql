-- all: every schedule.
-- params: none
-- index:  by name
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
order by name
