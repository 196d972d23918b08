-- due: the keys that are to be looked at again.
-- params: 1 now
-- index:  spent_wakes_idx
select group_id,
       key
from spent
where wakes_at <= ?1
order by wakes_at
