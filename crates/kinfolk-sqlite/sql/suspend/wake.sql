-- wake: the time of a suspended task has come: it is in line again, at its old place.
-- params: 1 id
-- index:  by number
update task
set state   = 'pending',
    gate    = 'open',
    signals = null,
    shelf   = iif(lane = 'top', null, lane)
where id = ?1
