-- outcomes: tasks with an outcome beside their state that should have none.
-- params: none
-- index:  the whole table
select id,
       'is ' || state || ' with outcome ' || coalesce(outcome, 'none')
from task
where outcome is not null
  and state <> 'waiting'
  and not (state = 'failed' and outcome = 'completed')
