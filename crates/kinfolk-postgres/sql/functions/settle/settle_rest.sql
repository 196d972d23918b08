-- The part of `settle` that is not a plain completion: decides what becomes of each task, writes it, and does what follows from
-- it. Answers every item that is not among `p_done`, as `settle` does. Locks the tasks in the order of their numbers, then what
-- `after_ends` locks, upwards.
--
-- `p_families`: the families that the caller has locked; `p_suspended`: those of them that it has locked whole. `p_fan_outs`,
-- `p_children`: of children that the caller has completed in this call, to be counted with the rest.

create or replace function kinfolk.settle_rest(
    p_settles kinfolk.settles, p_done integer[], p_now timestamptz, p_families bigint[], p_suspended bigint[],
    p_fan_outs bigint[] default null, p_children integer[] default null
) returns table (nth integer, answer text, state text)
language plpgsql volatile
as $$
#variable_conflict use_column
declare
    v_ends kinfolk.attempt_end[];
    v_settled record;
begin
    -- point: settle_rest.begun
    v_ends := kinfolk.decide_settles(p_settles, p_done, p_now);
    select array_agg(e.item) as items,
        array_agg(distinct e.queue_id) filter (where e.state = 'pending' or e.child_slot
            or (e.lane = 'root' and e.state <> 'waiting')) as queues,
        array_agg(distinct e.root_id) filter (where e.root_id is not null) as families,
        array_agg(distinct coalesce(e.root_id, e.task_id)) filter (where e.was_suspended) as suspended
    into v_settled
    from unnest(v_ends) e;
    perform kinfolk.require_locked(v_settled.families, p_families);
    perform kinfolk.require_locked(v_settled.suspended, p_suspended);
    perform kinfolk.write_ends(v_ends, p_now);
    perform kinfolk.after_ends(v_ends, p_fan_outs, p_children, p_now);

    -- point: settle_rest.moved
    return query
    select g.nth::integer,
        case
            when g.nth = any (v_settled.items) then 'recorded'
            when t.token = g.token and t.state <> 'running' then 'repeated'
            else 'stale'
        end,
        t.state::text
    from unnest(p_settles.ids, p_settles.tokens) with ordinality as g(id, token, nth)
    left join kinfolk.task t on t.id = g.id
    where g.nth <> all (p_done);
    if v_settled.queues is not null then
        perform kinfolk.notify_queues(v_settled.queues, false);
    end if;
end
$$;
