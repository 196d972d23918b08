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
       last_task
from schedule
order by name
