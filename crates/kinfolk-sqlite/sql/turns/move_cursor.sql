-- move_cursor: a value has had its turn; null begins anew.
-- params: 1 queue_id, 2 value or null
-- index:  by number
update queue
set fair_cursor = ?2
where id = ?1
