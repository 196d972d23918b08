-- Looks at waiting tasks after the caller has locked one of their fan-outs and seen that it is over, or that it is awaited by
-- a suspended handler. Resumes a suspended task: it is pending at its old position. Settles a task whose own work is over, if
-- none of its children is open, as `kinfolk_core::decide::join` decides: a failed spawned child fails it, an awaited child
-- does not. For each settled task with a parent it returns the fan-out, the `nth`, the fan-out's depth and the new state.
--
-- Locks the tasks by number. A task that is not waiting now can't begin to wait meanwhile: that takes the family's lock
-- exclusively.
create or replace function kinfolk.settle_owners(p_owners bigint[])
returns table (fan_out_id bigint, nth integer, depth smallint, state kinfolk.state)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_ended record;
begin
    perform
    from (select distinct o.id from unnest(p_owners) as o(id) order by o.id) o
    cross join lateral (
        select
        from kinfolk.task t
        where t.id = o.id
            -- Said so that no index on that is thought of, only the key.
            and t.state::text = 'waiting'
        for update
    ) t;
    -- The caller's own clock may lie before the end of a child that another settle has counted meanwhile.
    v_now := kinfolk.clock();

    -- point: ended.joining
    with owner as materialized (
        select t.*
        from (select distinct o.id from unnest(p_owners) as o(id)) o
        cross join lateral (
            select t.id, t.queue_id, t.fan_out_id, t.nth, t.depth, t.outcome, t.holds_slots
            from kinfolk.task t
            where t.id = o.id
                and t.state::text = 'waiting'
            offset 0
        ) t
    ),
    resumed as (
        update kinfolk.task t
        set
            state = 'pending',
            gate = 'open',
            due = case when t.gate = 'time' then v_now else t.due end,
            signals = null
        from owner o
        where t.id = o.id
            and o.outcome is null
        returning t.queue_id
    ),
    over as materialized (
        select o.*, k.failed, k.total, kinfolk.joined_state(o.outcome, k.open, k.failed) as next_state
        from owner o
        cross join lateral kinfolk.count_children(o.id) k
        where o.outcome is not null
            and k.open = 0
    ),
    ended as (
        update kinfolk.task t
        set
            state = o.next_state,
            outcome = case when o.next_state = 'failed' and t.outcome = 'completed' then t.outcome end,
            failure = case o.next_state
                when 'cancelled' then kinfolk.failure_cancelled()
                when 'failed' then
                    case when t.outcome = 'failed' then t.failure else kinfolk.failure_children(o.failed, o.total) end
            end,
            finished_at = v_now,
            unique_held = t.unique_held and t.unique_scope = 'window',
            lane = case when t.parent_id is null then 'top'::kinfolk.lane else t.lane end
        from over o
        where t.id = o.id
    ),
    stilled as (
        update kinfolk.fan_out f
        set waits = false
        from over o
        where f.task_id = o.id
    )
    select array_agg(e.id) filter (where e.fan_out_id is null) as roots,
        array_agg(e.next_state) filter (where e.fan_out_id is null) as root_states,
        array_agg(distinct e.queue_id) filter (where e.fan_out_id is null) as root_queues,
        array_agg(e.fan_out_id) filter (where e.fan_out_id is not null) as fan_outs,
        array_agg(e.nth) filter (where e.fan_out_id is not null) as nths,
        array_agg((e.depth - 1)::smallint) filter (where e.fan_out_id is not null) as depths,
        array_agg(e.next_state) filter (where e.fan_out_id is not null) as states,
        (select array_agg(distinct r.queue_id) from resumed r) as resumed,
        array_agg(e.id) filter (where e.holds_slots) as holders
    into v_ended
    from over e;

    if v_ended.holders is not null then
        perform kinfolk.release_slots(v_ended.holders);
    end if;
    if v_ended.resumed is not null then
        perform kinfolk.notify_queues(v_ended.resumed, false);
    end if;
    if v_ended.roots is not null then
        perform kinfolk.root_ended(v_ended.roots, v_ended.root_states);
        perform kinfolk.notify_limited(v_ended.root_queues);
    end if;
    return query
    select u.fan_out_id, u.nth, u.depth, u.state
    from unnest(v_ended.fan_outs, v_ended.nths, v_ended.depths, v_ended.states) as u(fan_out_id, nth, depth, state);
end
$$;
