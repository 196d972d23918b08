-- block: an open or blocked task waits behind a key.
-- params: 1 id, 2 group_id, 3 key, 4 what it is blocked as, 5 failed_tries
-- index:  by number
update task
set gate          = 'limit',
    bucket        = 'key',
    blocked_group = ?2,
    blocked_key   = ?3,
    blocked_as    = ?4,
    failed_tries  = ?5
where id = ?1
