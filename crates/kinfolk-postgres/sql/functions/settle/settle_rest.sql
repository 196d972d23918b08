-- The part of `settle` that is not a plain completion. `p_done`: the items that are settled already.
-- Locks the tasks in the order of their numbers, then what `cancel_members` and `ended` lock, upwards. What is decided here is
-- what `kinfolk_core::decide::settle` decides, and, where it is over with a task that was suspended before, `join`.
--
-- `p_families`: the families that the caller has locked; `p_parked`: those of them that it has locked whole. `p_fan_outs`,
-- `p_children`: of children that the caller has completed in this call, to be counted with the rest.

create or replace function kinfolk.settle_rest(
    p_ids bigint[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_failures jsonb[], p_delays_us bigint[],
    p_done integer[], p_now timestamptz, p_families bigint[], p_parked bigint[], p_fan_outs bigint[], p_children integer[]
) returns table (nth integer, answer text, state text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_settled record;
    v_gone record;
begin
    -- point: settle_rest.begun
    with given as materialized (
        select distinct on (g.id, g.token) g.*
        from unnest(p_ids, p_tokens, p_outcomes, p_results, p_failures, p_delays_us)
            with ordinality as g(id, token, outcome, result, failure, delay_us, nth)
        where g.nth <> all (coalesce(p_done, '{}'))
        order by g.id, g.token, g.nth
    ),
    held as materialized (
        select g.nth, g.outcome, g.result, g.failure as new_failure, g.delay_us, t.id, t.command_id, t.queue_id, t.runs,
            t.attempt, t.max_attempts, t.suspect, t.strikes, t.failure, t.due, t.started_at, t.worker_id,
            t.root_id, t.fan_out_id, t.nth as child, t.slot, t.lane, t.parked, t.keyed,
            t.cancel_requested_at is not null or g.outcome = 'cancelled' as is_cancelled
        from given g
        join kinfolk.task t on t.id = g.id
        where t.token = g.token
            and t.worker_id is not null
        order by t.id
        for update of t
    ),
    decided as (
        select h.*,
            case
                when h.is_cancelled then 'cancelled'
                when h.outcome = 'done' then 'completed'
                when h.outcome = 'never' then 'failed'
                when h.outcome = 'failed' and (h.attempt >= h.max_attempts or h.new_failure ->> 'kind' = 'validation') then 'failed'
                else 'pending'
            end::kinfolk.state as own_state
        from held h
    ),
    -- A task that was suspended may have children whatever it does.
    joined as (
        select d.*, k.open > 0 as has_open, k.failed, k.total,
            case
                when d.own_state = 'pending' then 'pending'
                when k.open > 0 then 'waiting'
                when d.own_state = 'completed' and k.failed > 0 then 'failed'
                else d.own_state
            end::kinfolk.state as next_state
        from decided d
        cross join lateral (
            select coalesce(sum(f.total - f.completed - f.failed - f.cancelled), 0) as open,
                coalesce(sum(f.failed) filter (where f.rule is null), 0) as failed,
                sum(f.total) filter (where f.rule is null) as total
            from kinfolk.fan_out f
            where d.parked
                and f.task_id = d.id
        ) k
    ),
    timed as materialized (
        select d.*,
            case
                when d.next_state <> 'pending' or d.outcome = 'release' then 0
                when d.outcome = 'failed' and d.delay_us is null then (
                    select kinfolk.retry_delay(c.backoff_base_ms, c.backoff_cap_ms, c.jitter_pct, d.id, d.attempt)
                    from kinfolk.command c
                    where c.id = d.command_id)
                else d.delay_us
            end as wait_us,
            d.next_state = 'pending' and d.outcome in ('snooze', 'yield', 'release') as is_free,
            d.next_state = 'pending' and d.outcome = 'release' as is_release,
            d.is_cancelled or d.outcome in ('failed', 'never') as is_error
        from joined d
    ),
    moved as (
        update kinfolk.task t
        set
            state = d.next_state,
            outcome = case
                when d.next_state = 'waiting' or (d.next_state = 'failed' and d.own_state = 'completed') then d.own_state
            end,
            gate = case
                when d.next_state <> 'pending' then null
                when d.wait_us > 0 then 'time'::kinfolk.gate
                else 'open'::kinfolk.gate
            end,
            due = case
                when d.next_state = 'pending' and not d.is_release then p_now + d.wait_us * interval '1 microsecond'
                else t.due
            end,
            finished_at = case when d.next_state >= 'completed' then p_now end,
            worker_id = null,
            attempt = case when d.is_free then greatest(t.attempt - 1, 0) else t.attempt end,
            suspect = d.is_release and t.suspect,
            strikes = case when d.is_release then t.strikes else 0 end,
            result = case when d.own_state = 'completed' then d.result end,
            failure = case
                when d.own_state = 'completed' and d.next_state = 'failed' then kinfolk.failure_children(d.failed, d.total)
                when d.own_state = 'completed' then null
                when d.is_cancelled then case when d.next_state = 'cancelled' then kinfolk.failure_cancelled() end
                when d.is_free then t.failure
                else d.new_failure
            end,
            unique_held = t.unique_held and (d.next_state < 'completed' or t.unique_scope = 'window'),
            slot = false,
            lane = case
                when t.parent_id is null and (d.next_state >= 'completed' or (d.outcome = 'yield' and not d.has_open))
                then 'top'::kinfolk.lane
                else t.lane
            end
        from timed d
        where t.id = d.id
    ),
    ended as (
        insert into kinfolk.attempt (task_id, run, attempt, started_at, ended_at, worker_id, ending, failure)
        select d.id, d.runs, d.attempt, d.started_at, p_now, d.worker_id,
            case
                when d.is_cancelled then 'cancelled'
                when d.own_state = 'completed' then 'completed'
                when d.own_state = 'failed' then 'failed'
                when d.outcome in ('snooze', 'yield') then 'snoozed'
                when d.outcome = 'release' then 'released'
                else 'retried'
            end,
            case
                when d.is_cancelled then kinfolk.failure_cancelled()
                when d.outcome in ('failed', 'never') then d.new_failure
            end
        from timed d
        where d.own_state <> 'completed' or d.runs > 1
    ),
    logged as (
        insert into kinfolk.error (at, task_id, command_id, queue_id, attempt, handler, failure)
        select p_now, d.id, d.command_id, d.queue_id, d.attempt, kinfolk.failing_function(d.id), d.new_failure
        from timed d
        where not d.is_cancelled
            and d.outcome in ('failed', 'never')
    )
    select array_agg(d.nth::integer) as items,
        array_agg(d.id) as ids,
        array_agg(distinct d.queue_id) filter (where d.next_state = 'pending' or d.slot
            or (d.lane = 'root' and d.next_state <> 'waiting')) as queues,
        array_agg(distinct d.root_id) filter (where d.root_id is not null) as families,
        array_agg(distinct coalesce(d.root_id, d.id)) filter (where d.parked) as parked,
        array_agg(d.fan_out_id) filter (where d.fan_out_id is not null and d.next_state >= 'completed') as fan_outs,
        array_agg(d.child) filter (where d.fan_out_id is not null and d.next_state >= 'completed') as children,
        array_agg(d.next_state) filter (where d.fan_out_id is not null and d.next_state >= 'completed') as states,
        array_agg(d.id) filter (where d.next_state = 'waiting') as waiting,
        array_agg(d.id) filter (where d.next_state = 'waiting' and d.own_state = 'failed') as failed,
        array_agg(d.id) filter (where d.parked and d.root_id is null and d.next_state >= 'completed') as roots,
        array_agg(d.next_state) filter (where d.parked and d.root_id is null and d.next_state >= 'completed') as root_states,
        array_agg(d.id) filter (where d.keyed) as keyed,
        array_agg(d.id) filter (where d.is_error) as errors,
        array_agg(d.attempt) filter (where d.is_error) as error_attempts,
        array_agg(case when d.is_cancelled then kinfolk.failure_cancelled() else d.new_failure end) filter (where d.is_error) as failures
    into v_settled
    from timed d;
    perform kinfolk.require_locked(v_settled.families, p_families);
    perform kinfolk.require_locked(v_settled.parked, p_parked);
    perform kinfolk.drop_intents(v_settled.ids);
    if v_settled.waiting is not null then
        perform kinfolk.wait_for_family(v_settled.waiting);
    end if;
    select c.fan_outs, c.children, c.was_after into v_gone from kinfolk.cancel_with(v_settled.failed, p_now) c;
    if p_fan_outs is not null or v_settled.fan_outs is not null or v_gone.fan_outs is not null then
        perform kinfolk.ended(v_gone.fan_outs || v_settled.fan_outs || p_fan_outs,
            v_gone.children || v_settled.children || p_children,
            array_fill('cancelled'::kinfolk.state, array[coalesce(cardinality(v_gone.fan_outs), 0)]) || v_settled.states
                || array_fill('completed'::kinfolk.state, array[coalesce(cardinality(p_fan_outs), 0)]),
            v_gone.was_after, p_now);
    end if;
    if v_settled.roots is not null then
        perform kinfolk.root_ended(v_settled.roots, v_settled.root_states);
    end if;

    if v_settled.keyed is not null then
        perform kinfolk.release_slots(v_settled.keyed);
    end if;
    if v_settled.errors is not null then
        perform kinfolk.tell_errors(v_settled.errors, v_settled.error_attempts, v_settled.failures);
    end if;

    -- point: settle_rest.moved
    return query
    select g.nth::integer,
        case
            when g.nth = any (v_settled.items) then 'recorded'
            when t.token = g.token and t.state <> 'running' then 'repeated'
            else 'stale'
        end,
        t.state::text
    from unnest(p_ids, p_tokens) with ordinality as g(id, token, nth)
    left join kinfolk.task t on t.id = g.id
    where g.nth <> all (coalesce(p_done, '{}'));
    if v_settled.queues is not null then
        perform kinfolk.notify_queues(v_settled.queues, false);
    end if;
end
$$;
