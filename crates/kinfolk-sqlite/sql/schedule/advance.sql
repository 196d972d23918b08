-- advance: note what a schedule has fired, and arm it for its next tick.
-- params: 1 name, 2 next_at, 3 last_at, 4 last_task
-- index:  by name
update schedule
set next_at   = ?2,
    last_at   = ?3,
    last_task = ?4
where name = ?1
