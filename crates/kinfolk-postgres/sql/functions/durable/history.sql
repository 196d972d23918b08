-- Everything that a handler needs to run from the top: its checkpoints (`part` 1), its awaited fan-outs, past and present
-- (2), and the children of the settled and small ones that are not forgotten (3). No row for a task without any of it. One
-- snapshot.
--
-- Reads `checkpoint` by its key, `fan_out_task`, `task_fan_out` and `ended_page`.

create or replace function kinfolk.history(p_task bigint)
returns table (
    part integer, branch text, name text, occurrence integer, kind text, digest text, value jsonb,
    fan_out bigint, rule text, parts integer, total bigint, completed bigint, failed bigint, cancelled bigint, verdict text,
    decided_at integer, deadline timestamptz, created_at timestamptz, settled_at timestamptz,
    nth integer, task bigint, state text, ended integer, result jsonb, failure jsonb, attempt smallint
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
    return query
    select 1, c.branch, c.name, c.occurrence, c.kind, c.digest, c.value,
        null::bigint, null, null::integer, null::bigint, null::bigint, null::bigint, null::bigint, null,
        null::integer, null::timestamptz, c.recorded_at, null::timestamptz,
        null::integer, null::bigint, null, null::integer, null::jsonb, null::jsonb, null::smallint
    from kinfolk.checkpoint c
    where c.task_id = p_task
    order by c.seq;
    return query
    select 2, null, null, null::integer, null, null, null::jsonb,
        f.id, f.rule, f.parts, f.total::bigint, f.completed::bigint, f.failed::bigint, f.cancelled::bigint, f.verdict,
        f.decided_at, f.deadline, f.created_at, f.settled_at,
        null::integer, f.task_id, null, null::integer, null::jsonb, null::jsonb, null::smallint
    from kinfolk.fan_out f
    where f.task_id = p_task
        and f.rule is not null
    order by f.id;
    if not found then
        return;
    end if;
    return query
    select 3, null, null, null::integer, null, null, null::jsonb,
        f.id, null, null::integer, null::bigint, null::bigint, null::bigint, null::bigint, null,
        null::integer, null::timestamptz, null::timestamptz, null::timestamptz,
        t.nth, t.id, t.state::text, e.ended, t.result, t.failure, t.attempt
    from (
        select (c.value #>> '{}')::bigint as id
        from kinfolk.checkpoint c
        where c.task_id = p_task
            and c.kind = 'fan_out'
        order by 1
    ) g
    cross join lateral (
        select f.id
        from kinfolk.fan_out f
        where f.id = g.id
            and f.verdict is not null
            and f.total <= kinfolk.inline_results_max()
        offset 0
    ) f
    cross join lateral (
        select t.nth, t.id, t.state, t.result, t.failure, t.attempt
        from kinfolk.task t
        where t.fan_out_id = f.id
        offset 0
    ) t
    -- There are few pages, with few children on each.
    left join lateral (
        select p.first + array_position(p.nths, t.nth) - 1 as ended
        from kinfolk.ended_page p
        where p.fan_out_id = f.id
            and t.nth = any (p.nths)
        limit 1
    ) e on true
    order by f.id, t.nth;
end
$$;
