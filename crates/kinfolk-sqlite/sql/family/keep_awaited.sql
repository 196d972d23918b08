-- keep_awaited: a new fan-out that a handler awaits, or how a known one is from now on.
-- params: 1 id, 2 task_id, 3 root_id, 4 depth, 5 child_order, 6 total, 7 completed, 8 failed, 9 cancelled, 10 held,
--         11 waits, 12 rule, 13 parts, 14 verdict, 15 decided_at, 16 decided_step, 17 wake_at, 18 deadline,
--         19 cancel_on_failure, 20 created_at, 21 settled_at
-- index:  by number
insert into fan_out (
    id, task_id, root_id, depth, child_order, total, completed, failed, cancelled, held, waits,
    rule, parts, verdict, decided_at, decided_step, wake_at, deadline, cancel_on_failure, created_at,
    settled_at
)
values (
    ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20, ?21
)
on conflict (id) do update
set total        = excluded.total,
    completed    = excluded.completed,
    failed       = excluded.failed,
    cancelled    = excluded.cancelled,
    waits        = excluded.waits,
    verdict      = excluded.verdict,
    decided_at   = excluded.decided_at,
    decided_step = excluded.decided_step,
    wake_at      = excluded.wake_at,
    deadline     = excluded.deadline,
    settled_at   = excluded.settled_at
