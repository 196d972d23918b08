-- Asks for the end of tasks whose family the caller has locked exclusively. Locks them in the order given. Returns how many
-- had not ended. For each task that has ended now and has a parent it returns the fan-out, the `nth`, and whether the gate
-- was `after`; the caller counts them by `ended`.
create or replace function kinfolk.cancel_members(
    p_ids bigint[], p_now timestamptz,
    out many integer, out fan_outs bigint[], out children integer[], out was_after boolean[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
as $$
declare
    v_locked kinfolk.locked_members;
begin
    v_locked := kinfolk.lock_members(p_ids);
    -- point: cancel.rows_locked
    p_now := coalesce(p_now, kinfolk.clock());
    many := v_locked.many;
    fan_outs := v_locked.fan_outs;
    children := v_locked.children;
    was_after := v_locked.was_after;

    update kinfolk.task t
    set
        state = case when t.state = 'pending' then 'waiting'::kinfolk.state else t.state end,
        gate = null,
        blocked_group = null,
        blocked_key = null,
        signals = null,
        cancel_requested_at = coalesce(t.cancel_requested_at, p_now),
        outcome = case when t.state <> 'running' then 'cancelled'::kinfolk.state end,
        failure = case when t.state = 'running' then t.failure end,
        result = null
    from unnest(v_locked.asked) as g(id)
    where t.id = g.id;
    if v_locked.waiting is not null then
        update kinfolk.fan_out f
        set waits = true
        from unnest(v_locked.waiting) as g(id)
        where f.task_id = g.id;
    end if;
    -- What waits for its children from now on starts no more: nothing is kept for it.
    perform kinfolk.drop_reservations(v_locked.waiting);
    perform pg_notify('kinfolk', 'c:' || w) from unnest(v_locked.workers) w;
    if v_locked.over is not null then
        perform kinfolk.end_pending(v_locked.over, kinfolk.failure_cancelled(), p_now);
    end if;
end
$$;
