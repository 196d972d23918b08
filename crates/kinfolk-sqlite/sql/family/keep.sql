-- keep: a new fan-out of spawned children, or how a known one is from now on.
-- params: 1 id, 2 task_id, 3 root_id, 4 depth, 5 child_order, 6 total, 7 completed, 8 failed, 9 cancelled, 10 held,
--         11 waits
-- index:  by number
insert into fan_out (
    id, task_id, root_id, depth, child_order, total, completed, failed, cancelled, held, waits
)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
on conflict (id) do update
set child_order = excluded.child_order,
    total       = excluded.total,
    completed   = excluded.completed,
    failed      = excluded.failed,
    cancelled   = excluded.cancelled,
    held        = excluded.held,
    waits       = excluded.waits
