-- put: make a schedule, or change it; its last tick and the task of that tick stay.
-- params: 1 name, 2 cron, 3 zone, 4 task, 5 missed, 6 overlap, 7 paused, 8 next_at
-- index:  by name
insert into schedule (name, cron, zone, task, missed, overlap, paused, next_at)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (name) do update
set cron    = excluded.cron,
    zone    = excluded.zone,
    task    = excluded.task,
    missed  = excluded.missed,
    overlap = excluded.overlap,
    paused  = excluded.paused,
    next_at = excluded.next_at
