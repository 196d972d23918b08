-- is_timed: whether a key is to be looked at again when a moment comes.
-- params: 1 group_id, 2 key
-- index:  spent, by group and key
select 1
from spent
where group_id = ?1
  and key = ?2
  and wakes_at is not null
