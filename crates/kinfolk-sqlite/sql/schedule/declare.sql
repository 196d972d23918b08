-- declare: a worker that starts declares a schedule.
-- params: 1 name, 2 now
-- index:  by name
update schedule
set declared_at = ?2
where name = ?1
