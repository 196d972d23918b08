-- spent: how much of a key's rate is spent, and until when it is slowed down.
-- params: 1 group_id, 2 key
-- index:  spent, by group and key
select spent_until,
       paused_until,
       wakes_at
from spent
where group_id = ?1
  and key = ?2
