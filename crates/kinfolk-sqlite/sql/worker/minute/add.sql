-- record_minutes: more of one command on one queue in one minute.
-- params: 1 minute, 2 queue_id, 3 command_id, 4 started, 5 waited, 6 waited_max, 7 completed, 8 failed, 9 retried, 10 cancelled,
--         11 suspended, 12 ran, 13 ran_max
-- index:  the primary key
insert into minute
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13)
on conflict (minute, queue_id, command_id) do update
set started    = started + excluded.started,
    waited     = waited + excluded.waited,
    waited_max = max(waited_max, excluded.waited_max),
    completed  = completed + excluded.completed,
    failed     = failed + excluded.failed,
    retried    = retried + excluded.retried,
    cancelled  = cancelled + excluded.cancelled,
    suspended  = suspended + excluded.suspended,
    ran        = ran + excluded.ran,
    ran_max    = max(ran_max, excluded.ran_max)
