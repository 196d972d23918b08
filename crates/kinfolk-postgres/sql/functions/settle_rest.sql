-- The part of `settle` that is not a plain completion. `p_done`: the items that are settled already.
-- Locks the tasks in the order of their numbers. What is decided here is what `kinfolk_core::decide::settle` decides.

create or replace function kinfolk.settle_rest(
    p_ids bigint[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_failures jsonb[], p_delays_us bigint[],
    p_done integer[], p_now timestamptz
) returns table (nth integer, answer text, state text)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
declare
    v_settled integer[];
    v_queues integer[];
begin
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
            end::kinfolk.state as next_state
        from held h
    ),
    timed as (
        select d.*,
            case
                when d.next_state <> 'pending' or d.outcome = 'release' then 0
                when d.outcome = 'failed' and d.delay_us is null then (
                    select kinfolk.retry_delay(c.backoff_base_ms, c.backoff_cap_ms, c.jitter_pct, d.id, d.attempt)
                    from kinfolk.command c
                    where c.id = d.command_id)
                else d.delay_us
            end as wait_us,
            d.next_state = 'pending' and d.outcome in ('snooze', 'release') as is_free,
            d.next_state = 'pending' and d.outcome = 'release' as is_release
        from decided d
    ),
    moved as (
        update kinfolk.task t
        set
            state = d.next_state,
            gate = case
                when d.next_state <> 'pending' then null
                when d.wait_us > 0 then 'time'::kinfolk.gate
                else 'open'::kinfolk.gate
            end,
            due = case
                when d.next_state = 'pending' and not d.is_release then p_now + d.wait_us * interval '1 microsecond'
                else t.due
            end,
            finished_at = case when d.next_state <> 'pending' then p_now end,
            worker_id = null,
            attempt = case when d.is_free then greatest(t.attempt - 1, 0) else t.attempt end,
            suspect = d.is_release and t.suspect,
            strikes = case when d.is_release then t.strikes else 0 end,
            result = case when d.next_state = 'completed' then d.result end,
            failure = case
                when d.next_state = 'completed' then null
                when d.is_cancelled then kinfolk.failure_cancelled()
                when d.is_free then t.failure
                else d.new_failure
            end,
            unique_held = t.unique_held and (d.next_state = 'pending' or t.unique_scope = 'window')
        from timed d
        where t.id = d.id
    ),
    ended as (
        insert into kinfolk.attempt (task_id, run, attempt, started_at, ended_at, worker_id, ending, failure)
        select d.id, d.runs, d.attempt, d.started_at, p_now, d.worker_id,
            case
                when d.is_cancelled then 'cancelled'
                when d.next_state = 'completed' then 'completed'
                when d.next_state = 'failed' then 'failed'
                when d.outcome = 'snooze' then 'snoozed'
                when d.outcome = 'release' then 'released'
                else 'retried'
            end,
            case
                when d.is_cancelled then kinfolk.failure_cancelled()
                when d.outcome in ('failed', 'never') then d.new_failure
            end
        from timed d
        where d.next_state <> 'completed' or d.runs > 1
    )
    select array_agg(d.nth::integer), array_agg(distinct d.queue_id) filter (where d.next_state = 'pending')
    into v_settled, v_queues
    from timed d;

    return query
    select g.nth::integer,
        case
            when g.nth = any (v_settled) then 'recorded'
            when t.token = g.token and t.state <> 'running' then 'repeated'
            else 'stale'
        end,
        t.state::text
    from unnest(p_ids, p_tokens) with ordinality as g(id, token, nth)
    left join kinfolk.task t on t.id = g.id
    where g.nth <> all (coalesce(p_done, '{}'));
    if v_queues is not null then
        perform kinfolk.notify_queues(v_queues, false);
    end if;
end
$$;
