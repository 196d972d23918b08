-- All queues, as they are shown.

create or replace function kinfolk.queues()
returns table (
    name text, paused_at timestamptz, keep_completed_us bigint, keep_failed_us bigint, keep_cancelled_us bigint,
    family_limit integer, child_limit integer, depth_limit smallint, paused_by text,
    fair text
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select q.name, q.paused_at, q.keep_completed_us, q.keep_failed_us, q.keep_cancelled_us, q.family_limit, q.child_limit,
        q.depth_limit, q.paused_by, q.fair
    from kinfolk.queue q
    order by q.name
$$;
