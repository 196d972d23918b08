-- holders: the first tasks that hold a slot of a key, by number.
-- params: 1 group_id, 2 key, 3 page
-- index:  slot_holder, by group and key
select task_id
from slot_holder
where group_id = ?1
  and key = ?2
order by task_id
limit ?3
