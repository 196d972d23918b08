-- go_on: what a running task wants to wait for is there already: it is in line again, at its old place and at no cost.
-- params: 1 id, 2 steps
-- index:  by number
update task
set state   = 'pending',
    gate    = 'open',
    attempt = max(attempt - 1, 0),
    suspect = 0,
    strikes = 0,
    worker  = null,
    slot    = 0,
    steps   = ?2,
    parked  = 1,
    shelf   = iif(lane = 'top', null, lane)
where id = ?1
