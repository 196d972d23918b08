-- wake: the time of a suspended task has come: it is in line again, at its old place.
-- params: 1 id, 2 gate
-- index:  by number
update task
set state   = 'pending',
    gate    = ?2,
    signals = null,
    shelf   = iif(?2 = 'open', iif(lane = 'top', null, lane), ?2)
where id = ?1
