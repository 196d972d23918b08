-- park: an open or parked task waits behind a key.
-- params: 1 id, 2 group_id, 3 key, 4 what it is parked as, 5 bounces
-- index:  by number
update task
set gate         = 'limit',
    shelf        = 'key',
    parked_group = ?2,
    parked_key   = ?3,
    parked_as    = ?4,
    bounces      = ?5
where id = ?1
