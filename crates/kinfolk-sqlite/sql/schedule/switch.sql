-- switch: switch a schedule off, or on and armed anew.
-- params: 1 name, 2 paused, 3 next_at
-- index:  by name
update schedule
set paused  = ?2,
    next_at = ?3
where name = ?1
