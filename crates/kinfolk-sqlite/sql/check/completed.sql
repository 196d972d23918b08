-- completed: completed tasks with a failure.
-- params: none
-- index:  the whole table
select id,
       'has the failure ' || failure
from task
where state = 'completed'
  and failure is not null
