-- gate: tasks whose gate does not fit their state: a pending one has one, and a suspended one while it has a timer.
-- params: none
-- index:  the whole table
select id,
       'is ' || state || ' with gate ' || coalesce(gate, 'none')
from task
where (state = 'pending') <> (gate is not null)
  and not (state = 'waiting' and outcome is null and gate is 'time')
