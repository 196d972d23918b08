-- attempts: tasks with more attempts than they may have.
-- params: none
-- index:  the whole table
select id,
       attempt || ' attempts of ' || max_attempts
from task
where attempt > max_attempts
