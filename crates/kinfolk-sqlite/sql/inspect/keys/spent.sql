-- spent: the next key of a group of whose rate something is spent, or that is slowed down.
-- params: 1 group_id, 2 key, 3 now
-- index:  spent, by group and key
select key
from spent
where group_id = ?1
  and key > ?2
  and over_at > ?3
order by key
limit 1
