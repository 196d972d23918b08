-- places: ended roots that still hold a place among the families at work.
-- params: none
-- index:  the whole table
select id,
       'is ' || state
from task
where lane = 'root'
  and finished_at is not null
