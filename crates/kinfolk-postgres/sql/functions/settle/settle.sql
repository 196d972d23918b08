-- Records how attempts ended, and what follows from it. Answers only what a caller can't know: an item without an
-- answer is `recorded` as `completed`. For the rest `recorded` or `repeated` with the state the task went to, or
-- `stale`. Each item is fenced by task and token; a stale one does not disturb the rest.
--
-- A plain completion (first run, nobody asked for its end) goes by one update, which is here and not in a step of its own: a call
-- of one would cost every settle more than it explains. All else is decided row by row in `settle_rest`. The steps run under the
-- settings of this function, and have none of their own.
--
-- Locks the families of the tasks that have one (shared), then the tasks, plain completions first, each part in the order given: a
-- caller sorts them by number. Then what `ended` locks, upwards.
--
-- `p_families`: the roots of those tasks that have a parent, for a caller that knows; null has them looked up. `p_suspended`: the
-- families, of these or beside them, of those tasks that were suspended before: they are locked whole, since the end of such a
-- task is decided by fan-outs that its children still count in.

create or replace function kinfolk.settle(
    p_ids bigint[], p_tokens uuid[], p_outcomes text[], p_results jsonb[] default '{}', p_failures jsonb[] default '{}',
    p_delays_us bigint[] default '{}', p_families bigint[] default null, p_suspended bigint[] default null
) returns table (nth integer, answer text, state text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_bitmapscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz;
    v_done record;
    -- Queues on which the end of a task makes room.
    v_limited integer[] := array(
        select q.id
        from kinfolk.queue q
        where q.family_limit is not null
            or q.child_limit is not null);
    v_many integer := cardinality(p_ids);
    -- A task that is named twice is decided row by row: the first ending counts. Where all end alike, the update takes
    -- the first one by itself.
    v_once boolean := 'done' = all (p_outcomes) or v_many = (select count(distinct i) from unnest(p_ids) i);
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        perform kinfolk.require_read_committed();
    end if;
    perform kinfolk.require_settles(p_ids, p_tokens, p_outcomes, p_results, p_failures, p_delays_us);
    if p_families is null then
        select f.families, f.suspended into p_families, p_suspended from kinfolk.families_of(p_ids) f;
    end if;
    if cardinality(p_suspended) > 0 then
        perform kinfolk.lock_families(p_families, p_suspended);
        p_families := p_families || p_suspended;
    elsif cardinality(p_families) > 0 then
        perform kinfolk.lock_families(p_families, false);
    end if;
    v_now := kinfolk.clock();

    -- point: settle.begun
    with done as (
        update kinfolk.task t
        set
            state = 'completed',
            finished_at = v_now,
            worker_id = null,
            result = g.result,
            failure = null,
            suspect = false,
            strikes = 0,
            unique_held = t.unique_held and t.unique_scope = 'window',
            child_slot = false,
            lane = case when t.parent_id is null then 'top'::kinfolk.lane else t.lane end
        from unnest(p_ids, p_tokens, p_outcomes, p_results) with ordinality as g(id, token, outcome, result, nth)
        where v_once
            and g.outcome = 'done'
            and t.id = g.id
            and t.token = g.token
            -- Running: said so that no index on that is thought of, only the key.
            and t.worker_id is not null
            and t.runs = 1
            and t.cancel_requested_at is null
        returning g.nth::integer as nth, t.id, t.queue_id, t.root_id, t.fan_out_id, t.nth as child, t.holds_slots,
            t.command_id, t.keys
    )
    select array_agg(d.nth) as items, array_agg(distinct d.queue_id) filter (where d.queue_id = any (v_limited)) as queues,
        array_agg(d.fan_out_id) filter (where d.fan_out_id is not null) as fan_outs,
        array_agg(d.child) filter (where d.fan_out_id is not null) as children,
        array_agg(distinct d.root_id) filter (where d.root_id is not null) as families,
        array_agg(d.id) filter (where d.holds_slots) as holders, array_agg(d.command_id) filter (where d.holds_slots) as commands,
        array_agg(d.keys) filter (where d.holds_slots) as keys
    into v_done
    from done d;
    -- point: settle.done
    -- Most callers name exactly those, in order.
    if v_done.families <> p_families then
        perform kinfolk.require_locked(v_done.families, p_families);
    end if;
    if coalesce(cardinality(v_done.items), 0) < v_many then
        return query
        select r.nth, r.answer, r.state
        from kinfolk.settle_rest(row(p_ids, p_tokens, p_outcomes, p_results, p_failures, p_delays_us)::kinfolk.settles,
            coalesce(v_done.items, '{}'), v_now, p_families, p_suspended, v_done.fan_outs, v_done.children) r;
    elsif v_done.fan_outs is not null then
        perform kinfolk.ended(v_done.fan_outs, v_done.children,
            array_fill('completed'::kinfolk.state, array[cardinality(v_done.fan_outs)]), '{}', v_now);
    end if;
    if v_done.queues is not null then
        perform kinfolk.notify_queues(v_done.queues, false);
    end if;
    if v_done.holders is not null then
        perform kinfolk.free_slots(v_done.holders, v_done.commands, v_done.keys, null);
    end if;
end
$$;
