-- Removes finished tasks that are past their retention, oldest end first, one page of them, with their attempts.
-- Answers how many went. Reads `task_finished`; locks the tasks, passing over those that someone else holds.

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
    v_page integer := kinfolk.sweep_page();
begin
    perform kinfolk.require_read_committed();
    v_now := kinfolk.clock();
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
        select t.id
        from kinfolk.task t
        where t.id = any (v_ids)
            and t.finished_at is not null
            -- What came too late for it is to become the next task first.
            and not exists (select from kinfolk.duplicate d where d.task_id = t.id)
        order by t.id
        for update skip locked
    )
    select coalesce(array_agg(h.id), '{}') into v_ids from held h;
    delete from kinfolk.attempt a where a.task_id = any (v_ids);
    delete from kinfolk.body b where b.task_id = any (v_ids);
    delete from kinfolk.task t where t.id = any (v_ids);
    return cardinality(v_ids);
end
$$;
