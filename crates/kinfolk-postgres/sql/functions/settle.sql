-- Records how attempts ended, and what follows from it. Answers only what a caller can't know: an item without an
-- answer is `recorded` as `completed`. For the rest `recorded` or `repeated` with the state the task went to, or
-- `stale`. Each item is fenced by task and token; a stale one does not disturb the rest.
--
-- A plain completion (first run, nobody asked for its end) goes by one update; all else is decided row by row in
-- `settle_rest`. Locks the tasks, plain completions first, each part in the order given: a caller sorts them by number.

create or replace function kinfolk.settle_tersely(
    p_ids bigint[],
    p_tokens uuid[],
    p_outcomes text[],
    p_results jsonb[] default '{}',
    p_failures jsonb[] default '{}',
    p_delays_us bigint[] default '{}'
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
    v_done integer[];
    v_many integer := cardinality(p_ids);
    -- A task that is named twice is decided row by row: the first ending counts. Where all end alike, the update takes
    -- the first one by itself.
    v_once boolean := 'done' = all (p_outcomes) or v_many = (select count(distinct i) from unnest(p_ids) i);
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.require_settles(p_ids, p_tokens, p_outcomes, p_results, p_failures, p_delays_us);
    v_now := kinfolk.clock();

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
            unique_held = t.unique_held and t.unique_scope = 'window'
        from unnest(p_ids, p_tokens, p_outcomes, p_results) with ordinality as g(id, token, outcome, result, nth)
        where v_once
            and g.outcome = 'done'
            and t.id = g.id
            and t.token = g.token
            -- Running: said so that no index on that is thought of, only the key.
            and t.worker_id is not null
            and t.runs = 1
            and t.cancel_requested_at is null
        returning g.nth::integer as nth
    )
    select array_agg(done.nth) into v_done from done;

    if coalesce(cardinality(v_done), 0) < v_many then
        return query
        select r.nth, r.answer, r.state
        from kinfolk.settle_rest(p_ids, p_tokens, p_outcomes, p_results, p_failures, p_delays_us, v_done, v_now) r;
    end if;
end
$$;

-- The same with one answer for each item.
create or replace function kinfolk.settle(
    p_ids bigint[],
    p_tokens uuid[],
    p_outcomes text[],
    p_results jsonb[] default '{}',
    p_failures jsonb[] default '{}',
    p_delays_us bigint[] default '{}'
) returns table (nth integer, answer text, state text)
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    with told as materialized (
        select t.nth, t.answer, t.state
        from kinfolk.settle_tersely(p_ids, p_tokens, p_outcomes, p_results, p_failures, p_delays_us) t
    )
    select g.nth::integer,
        case when t.nth is null then 'recorded' else t.answer end,
        case when t.nth is null then 'completed' else t.state end
    from unnest(p_ids) with ordinality as g(id, nth)
    left join told t on t.nth = g.nth
    order by g.nth
$$;
