-- held: how many tasks hold a slot of a key. (No limit on the counting: SQLite plans a statement again whenever a limit is
-- bound.)
-- params: 1 group_id, 2 key
-- index:  slot_holder, by group and key
select count(*)
from slot_holder
where group_id = ?1
  and key = ?2
