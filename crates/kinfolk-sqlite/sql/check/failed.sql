-- failed: failed or cancelled tasks without a failure, or with a result; only one whose own work was done keeps its
-- result.
-- params: none
-- index:  the whole table
select id,
       'is ' || state || iif(failure is null, ' without a failure', ' with a result')
from task
where state in ('failed', 'cancelled')
  and (failure is null or (result is not null and outcome is null))
