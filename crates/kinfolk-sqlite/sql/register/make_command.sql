-- make_command: make a command known, or change its defaults.
-- params: 1 name, 2 queue_id, 3 priority, 4 max_attempts, 5 base_ms, 6 cap_ms, 7 jitter_pct, 8 timeout (span or null),
--         9 max_strikes, 10 label (null: as it is; '': none)
-- index:  the unique name
insert into command (name, queue_id, priority, max_attempts, base_ms, cap_ms, jitter_pct, timeout, max_strikes, label)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, nullif(?10, ''))
on conflict (name) do update
set queue_id     = excluded.queue_id,
    priority     = excluded.priority,
    max_attempts = excluded.max_attempts,
    base_ms      = excluded.base_ms,
    cap_ms       = excluded.cap_ms,
    jitter_pct   = excluded.jitter_pct,
    timeout      = excluded.timeout,
    max_strikes  = excluded.max_strikes,
    label        = nullif(coalesce(?10, command.label), '')
returning id
