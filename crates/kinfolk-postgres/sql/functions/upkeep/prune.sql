-- Removes finished families that are past their retention, the root that ended first before the others, one page of tasks:
-- children before their parents, so that a family that is larger goes over several calls. Answers how many tasks went.
-- Before that it cleans up in groups (`prune_keys`): their admission locks, where they are free, come before any row.
-- Then old entries of the logs (`prune_logs`).
-- Reads `task_finished`; locks the roots, passing over roots that another call holds: no call touches the rest of a family
-- whose root has ended without having locked that root.

create or replace function kinfolk.prune() returns bigint
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set jit = off
as $$
declare
    v_now timestamptz;
    v_ids bigint[];
    v_roots record;
    v_root bigint;
    v_gone bigint := 0;
    v_page integer := kinfolk.sweep_page();
begin
    perform kinfolk.require_read_committed();
    v_now := kinfolk.clock();
    perform kinfolk.prune_keys(v_now);
    perform kinfolk.prune_logs(v_now);
    v_ids := array(
        select old.id
        from kinfolk.queue q
        cross join lateral (
            values
                ('completed'::kinfolk.state, q.keep_completed_us),
                ('failed', q.keep_failed_us),
                ('cancelled', q.keep_cancelled_us)
        ) as k(state, keep_us)
        cross join lateral (
            select t.id, t.finished_at
            from kinfolk.task t
            where t.queue_id = q.id
                and t.state = k.state
                and t.parent_id is null
                -- A century is for good.
                and t.finished_at <= v_now - least(k.keep_us, 3155760000000000) * interval '1 microsecond'
            order by t.finished_at, t.id
            limit v_page
        ) old
        order by old.finished_at, old.id
        limit v_page);
    if cardinality(v_ids) = 0 then
        return 0;
    end if;
    with held as materialized (
        select t.id, t.finished_at
        from kinfolk.task t
        where t.id = any (v_ids)
            and t.finished_at is not null
            -- A duplicate that came too late for it becomes the next task first.
            and not exists (select from kinfolk.duplicate d where d.task_id = t.id)
        order by t.id
        for update skip locked
    )
    select array_agg(h.id) filter (where f.root_id is null) as alone,
        array_agg(h.id order by h.finished_at, h.id) as held,
        bool_or(f.root_id is not null) as has_families
    into v_roots
    from held h
    left join lateral (select f.root_id from kinfolk.fan_out f where f.root_id = h.id limit 1) f on true;
    if not coalesce(v_roots.has_families, false) then
        return kinfolk.remove_tasks(v_roots.alone);
    end if;

    foreach v_root in array v_roots.held loop
        exit when v_gone >= v_page;
        v_gone := v_gone + kinfolk.remove_family(v_root, (v_page - v_gone)::integer);
    end loop;
    return v_gone;
end
$$;
