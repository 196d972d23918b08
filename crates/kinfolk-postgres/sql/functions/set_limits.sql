-- Sets the limits of a queue, and leaves all else as it is; a missing queue is made. Null is no limit.
-- Locks what `set_queue` locks.

create or replace function kinfolk.set_limits(
    queue text,
    family_limit integer default null,
    child_limit integer default null,
    depth_limit integer default null
) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    insert into kinfolk.queue (name) values (queue) on conflict do nothing;
    select kinfolk.set_queue(q.name, q.keep_completed_us, q.keep_failed_us, q.keep_cancelled_us, set_limits.family_limit,
        set_limits.child_limit, set_limits.depth_limit)
    from kinfolk.queue q
    where q.name = set_limits.queue
$$;
