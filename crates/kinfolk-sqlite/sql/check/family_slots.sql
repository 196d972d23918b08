-- family_slots: ended roots that still hold a family slot.
-- params: none
-- index:  the whole table
select id,
       'is ' || state
from task
where lane = 'root'
  and finished_at is not null
