-- put: make a status, or change what it watches; since when it is as it is stays, unless it turns.
-- params: 1 name, 2 commands, 3 active, 4 now
-- index:  by name
insert into status (name, commands, active, changed_at)
values (?1, ?2, ?3, ?4)
on conflict (name) do update
set commands   = excluded.commands,
    changed_at = iif(active = excluded.active, changed_at, excluded.changed_at),
    active     = excluded.active
