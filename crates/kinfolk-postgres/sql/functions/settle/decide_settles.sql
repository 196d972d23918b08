-- The first step of `settle_rest`: locks the tasks whose attempts end, in the order of their numbers, and decides what becomes of
-- them, as `kinfolk_core::decide::settle` and, for a task that was suspended before, `join` decide. A settle that is stale is left
-- out; of two settles of one attempt the first one counts. `p_done`: the items that are settled already.

create or replace function kinfolk.decide_settles(p_settles kinfolk.settles, p_done integer[], p_now timestamptz)
returns kinfolk.attempt_end[]
language plpgsql volatile
as $$
begin
    return array(
        with given as materialized (
            select distinct on (g.id, g.token) g.*
            from unnest(p_settles.ids, p_settles.tokens, p_settles.outcomes, p_settles.results, p_settles.failures, p_settles.delays_us)
                with ordinality as g(id, token, outcome, result, failure, delay_us, nth)
            where g.nth <> all (p_done)
            order by g.id, g.token, g.nth
        ),
        held as materialized (
            select g.nth, g.outcome, g.result, g.failure as given_failure, g.delay_us, t.id, t.command_id, t.queue_id, t.parent_id,
                t.root_id, t.fan_out_id, t.nth as child, t.lane, t.child_slot, t.was_suspended, t.holds_slots, t.runs, t.attempt, t.started_at,
                t.worker_id, t.suspect, t.strikes, t.failure,
                kinfolk.own_state(g.outcome, t.cancel_requested_at is not null, t.attempt, t.max_attempts, g.failure) as own_state
            from given g
            join kinfolk.task t on t.id = g.id
            where t.token = g.token
                and t.worker_id is not null
            order by t.id
            for update of t
        ),
        decided as materialized (
            select h.*, k.open, k.failed, k.total, kinfolk.joined_state(h.own_state, k.open, k.failed) as state,
                h.own_state = 'pending' and h.outcome = 'release' as is_release,
                case
                    when h.own_state = 'cancelled' then kinfolk.failure_cancelled()
                    when h.outcome in ('failed', 'never') then h.given_failure
                end as new_failure
            from held h
            -- A task that was suspended may have children whatever it does.
            cross join lateral kinfolk.count_children(case when h.was_suspended then h.id end) k
        )
        select row(d.nth, d.id, d.command_id, d.queue_id, d.root_id, d.fan_out_id, d.child, d.lane, d.child_slot, d.was_suspended, d.holds_slots,
            d.runs, d.attempt, d.started_at, d.worker_id,
            case
                when d.own_state <> 'pending' then d.own_state::text
                else case d.outcome when 'failed' then 'retried' when 'release' then 'released' else 'snoozed' end
            end, d.new_failure, d.own_state, d.state,
            case when d.own_state = 'pending' and not d.is_release then p_now + interval '1 microsecond' * coalesce(d.delay_us, (
                select kinfolk.retry_delay(c.backoff_base_ms, c.backoff_cap_ms, c.jitter_pct, d.id, d.attempt)
                from kinfolk.command c
                where c.id = d.command_id)) end,
            d.attempt - (d.attempt > 0 and d.own_state = 'pending' and d.outcome <> 'failed')::integer, d.is_release and d.suspect,
            case when d.is_release then d.strikes else 0 end, case when d.own_state = 'completed' then d.result end,
            case
                when d.own_state = 'completed' then case when d.state = 'failed' then kinfolk.failure_children(d.failed, d.total) end
                when d.own_state <> 'cancelled' or d.state = 'cancelled' then coalesce(d.new_failure, d.failure)
            end,
            case when d.parent_id is null and (d.state >= 'completed' or (d.outcome = 'yield' and d.open = 0)) then 'top' else d.lane end
        )::kinfolk.attempt_end
        from decided d);
end
$$;
