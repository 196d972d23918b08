-- held: the next key of a group that tasks hold slots of.
-- params: 1 group_id, 2 key
-- index:  slot_holder, by group and key
select key
from slot_holder
where group_id = ?1
  and key > ?2
order by key
limit 1
