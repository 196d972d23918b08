-- looked_at: a key is not to be looked at again on account of time.
-- params: 1 group_id, 2 key
-- index:  spent, by group and key
update spent
set wakes_at = null
where group_id = ?1
  and key = ?2
