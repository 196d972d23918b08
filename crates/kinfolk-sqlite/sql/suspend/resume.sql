-- resume: a suspended task is in line again, at its old place; if it had a timer, it is due now.
-- params: 1 id, 2 now
-- index:  by number
update task
set state   = 'pending',
    gate    = 'open',
    due     = iif(gate is null, due, ?2),
    signals = null,
    shelf   = iif(lane = 'top', null, lane)
where id = ?1
