-- finished: tasks whose end does not fit their state.
-- params: none
-- index:  the whole table
select id,
       'is ' || state || ' and ended at ' || coalesce(finished_at, 'no time')
from task
where (state in ('completed', 'failed', 'cancelled')) <> (finished_at is not null)
