-- make_queue: make a queue, or change how long it keeps what is finished.
-- params: 1 name, 2 keep_completed, 3 keep_failed, 4 keep_cancelled (spans; null keeps for good)
-- index:  the unique name
insert into queue (name, keep_completed, keep_failed, keep_cancelled)
values (?1, ?2, ?3, ?4)
on conflict (name) do update
set keep_completed = excluded.keep_completed,
    keep_failed    = excluded.keep_failed,
    keep_cancelled = excluded.keep_cancelled
returning id
