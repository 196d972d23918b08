-- Makes a queue, or changes its policy: how long it keeps what is finished, by final state, in microseconds (null keeps it
-- for good), and its limits (null is none).

create or replace function kinfolk.set_queue(
    p_name text, p_keep_completed_us bigint, p_keep_failed_us bigint, p_keep_cancelled_us bigint,
    p_family_limit integer default null, p_child_limit integer default null, p_depth_limit integer default 32
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
    perform kinfolk.require_name('queue', p_name);
    insert into kinfolk.queue (name, keep_completed_us, keep_failed_us, keep_cancelled_us, family_limit, child_limit, depth_limit)
    values (p_name, p_keep_completed_us, p_keep_failed_us, p_keep_cancelled_us, p_family_limit, p_child_limit,
        p_depth_limit)
    on conflict (name) do update set
        keep_completed_us = excluded.keep_completed_us,
        keep_failed_us = excluded.keep_failed_us,
        keep_cancelled_us = excluded.keep_cancelled_us,
        family_limit = excluded.family_limit,
        child_limit = excluded.child_limit,
        depth_limit = excluded.depth_limit;
end
$$;
