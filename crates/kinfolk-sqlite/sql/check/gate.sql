-- gate: tasks whose gate does not fit their state.
-- params: none
-- index:  the whole table
select id,
       'is ' || state || ' with gate ' || coalesce(gate, 'none')
from task
where (state = 'pending') <> (gate is not null)
