-- one: a schedule by its name.
-- params: 1 name
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
where name = ?1
