-- Opens the next child of an in-order fan-out, which the caller has locked, when one has ended and no other is open.
-- Reads `task_after`.

create or replace function kinfolk.open_next(p_fan_out bigint, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_next record;
begin
    select t.id, t.queue_id, t.root_id
    into v_next
    from kinfolk.task t
    where t.fan_out_id = p_fan_out
        and t.gate = 'after'
    order by t.nth
    limit 1
    for update;
    update kinfolk.task t
    set gate = kinfolk.gate_in_family(v_next.root_id, t.due, p_now)
    where t.id = v_next.id;
    update kinfolk.fan_out f
    set held = f.held - 1
    where f.id = p_fan_out;
    perform kinfolk.notify_queues(array[v_next.queue_id], false);
end
$$;

-- Opens all children of a fan-out, which the caller has locked, that are held back: from now on they run side by side.
-- Reads `task_after`.
create or replace function kinfolk.open_held(p_fan_out bigint, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_queues integer[];
begin
    with opened as (
        update kinfolk.task t
        set gate = kinfolk.gate_in_family(t.root_id, t.due, p_now)
        where t.fan_out_id = p_fan_out
            and t.gate = 'after'
        returning t.queue_id
    )
    select array_agg(distinct o.queue_id) into v_queues from opened o;
    update kinfolk.fan_out f set held = 0 where f.id = p_fan_out;
    perform kinfolk.notify_queues(v_queues, false);
end
$$;

-- Cancels all children of an in-order fan-out, which the caller has locked, that are held back: one before them has failed.
-- Answers whether the owner waits and these were the last of its children. Reads `task_after`.
create or replace function kinfolk.skip_rest(p_fan_out bigint, p_now timestamptz) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_skipped bigint[] := array(
        select t.id
        from kinfolk.task t
        where t.fan_out_id = p_fan_out
            and t.gate = 'after'
        order by t.id
        for update);
    v_is_over boolean;
begin
    perform kinfolk.end_pending(v_skipped, kinfolk.failure_skipped_child(), p_now);
    update kinfolk.fan_out f
    set
        cancelled = f.cancelled + cardinality(v_skipped),
        held = f.held - cardinality(v_skipped)
    where f.id = p_fan_out
    returning f.waits and f.completed + f.failed + f.cancelled = f.total into v_is_over;
    return v_is_over;
end
$$;

-- The gate of a member of a family that nothing else holds back: `limit` while its root waits to be let in by its queue.
create or replace function kinfolk.gate_in_family(p_root bigint, p_due timestamptz, p_now timestamptz) returns kinfolk.gate
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when exists (
            select
            from kinfolk.task r
            join kinfolk.queue q on q.id = r.queue_id
            where r.id = p_root
                and r.state < 'completed'
                and r.lane = 'top'
                and q.family_limit is not null)
        then 'limit'
        when p_due > p_now then 'time'
        else 'open'
    end::kinfolk.gate
$$;

-- Cancels pending or suspended tasks, which the caller has locked, for this reason. What was enqueued under their unique keys is laid into
-- them; what is still on its way to them belongs to the next task.
create or replace function kinfolk.end_pending(p_ids bigint[], p_failure jsonb, p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
    v_keyed bigint[];
    v_slotted bigint[];
begin
    -- Each by its number, whatever the planner thinks of keys.
    v_keyed := array(
        select t.id
        from unnest(p_ids) as g(id)
        cross join lateral (
            select t.id, t.unique_key, t.runs
            from kinfolk.task t
            where t.id = g.id
            offset 0
        ) t
        where t.unique_key is not null
            and t.runs = 0);
    if cardinality(v_keyed) > 0 then
        perform kinfolk.lay_in(k) from unnest(v_keyed) k;
        insert into kinfolk.late (queue_id, task_id)
        select t.queue_id, t.id
        from kinfolk.task t
        where t.id = any (v_keyed);
    end if;
    with cancelled as (
        update kinfolk.task t
        set
            state = 'cancelled',
            gate = null,
            outcome = null,
            signals = null,
            finished_at = p_now,
            failure = p_failure,
            unique_held = t.unique_held and t.unique_scope = 'window',
            lane = case when t.parent_id is null then 'top'::kinfolk.lane else t.lane end,
            parked_group = null,
            parked_key = null,
            bounces = 0
        from unnest(p_ids) as g(id)
        where t.id = g.id
        returning t.id, t.keyed
    )
    select array_agg(c.id) filter (where c.keyed) into v_slotted from cancelled c;
    if v_slotted is not null then
        perform kinfolk.release_slots(v_slotted);
    end if;
    perform kinfolk.drop_reservations(p_ids);
end
$$;
