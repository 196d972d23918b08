-- make_queue: make a queue, or change its policy.
-- params: 1 name, 2 keep_completed, 3 keep_failed, 4 keep_cancelled (spans; null keeps for good), 5 family_limit,
--         6 child_limit (null is no limit), 7 depth_limit, 8 fair
-- index:  the unique name
insert into queue (name, keep_completed, keep_failed, keep_cancelled, family_limit, child_limit, depth_limit, fair)
values (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
on conflict (name) do update
set keep_completed = excluded.keep_completed,
    keep_failed    = excluded.keep_failed,
    keep_cancelled = excluded.keep_cancelled,
    family_limit   = excluded.family_limit,
    child_limit    = excluded.child_limit,
    depth_limit    = excluded.depth_limit,
    fair           = excluded.fair
returning id
