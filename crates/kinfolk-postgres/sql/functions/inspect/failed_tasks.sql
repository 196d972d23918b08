-- The tasks that failed since a moment, the latest first, at most so many. Reads `task_not_completed`.

create or replace function kinfolk.failed_tasks(p_since timestamptz, p_limit integer)
returns table (id bigint, command text, finished_at timestamptz, kind text, message text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
begin
    return query
    select t.id, c.name, t.finished_at, t.failure ->> 'kind', t.failure ->> 'message'
    from (
        select t.id, t.command_id, t.finished_at, t.failure
        from kinfolk.task t
        where t.state = 'failed'
            and t.finished_at >= p_since
        order by t.finished_at desc, t.id desc
        limit least(greatest(p_limit, 0), kinfolk.look_max() + 1)
    ) t
    join kinfolk.command c on c.id = t.command_id
    order by t.finished_at desc, t.id desc;
end
$$;
