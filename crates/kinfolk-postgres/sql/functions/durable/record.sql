-- Writes checkpoints of running attempts; `p_of` is the number of the attempt of each, from 1.
-- Returns `written` or `stale` for each attempt: each is fenced by task and token, and a stale one does not affect the rest.
-- The same checkpoint again changes nothing. Another one under the same key refuses the whole call.
--
-- Locks the tasks by number, and waits for nothing after that. Reads `checkpoint` by its keys.

create or replace function kinfolk.record(p_ids bigint[], p_tokens uuid[], p_of integer[], p_steps kinfolk.checkpoints)
returns table (nth integer, answer text)
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
    v_held integer[];
begin
    perform kinfolk.require_read_committed();
    perform kinfolk.require_checkpoints(p_steps);
    if not (kinfolk.is_full(p_ids, cardinality(p_ids)) and kinfolk.is_full(p_tokens, cardinality(p_ids))
        and kinfolk.is_full(p_of, cardinality(p_steps.names))
        and coalesce((select bool_and(o between 1 and cardinality(p_ids)) from unnest(p_of) o), true))
    then
        raise exception using errcode = 'KF001', message = 'each checkpoint must say which of the attempts it is of',
            hint = 'count them from 1';
    elsif cardinality(p_of) > kinfolk.record_batch_max()
        and exists (select from unnest(p_of) o group by o having count(*) > kinfolk.record_batch_max())
    then
        raise exception using errcode = 'KF001', message = 'too many checkpoints of one attempt in one call',
            hint = format('send at most %s at once', kinfolk.record_batch_max());
    end if;
    -- point: record.begun
    with held as materialized (
        select g.nth
        from (
            select u.*
            from unnest(p_ids, p_tokens) with ordinality as u(id, token, nth)
            order by u.id, u.nth
        ) g
        cross join lateral (
            select
            from kinfolk.task t
            where t.id = g.id
                and t.token = g.token
                and t.worker_id is not null
            for update
        ) t
    )
    select array_agg(h.nth::integer) into v_held from held h;
    -- point: record.locked
    perform kinfolk.write_checkpoints(array_agg(p_ids[g.of] order by g.nth), row(array_agg(g.branch order by g.nth),
        array_agg(g.name order by g.nth), array_agg(g.occurrence order by g.nth), array_agg(g.kind order by g.nth),
        array_agg(g.digest order by g.nth), array_agg(g.value order by g.nth))::kinfolk.checkpoints)
    from unnest(p_of, p_steps.branches, p_steps.names, p_steps.occurrences, p_steps.kinds, p_steps.digests, p_steps.values)
        with ordinality as g(of, branch, name, occurrence, kind, digest, value, nth)
    where g.of = any (v_held)
    having count(*) > 0;
    return query
    select g.nth::integer, case when g.nth = any (v_held) then 'written' else 'stale' end
    from unnest(p_ids) with ordinality as g(id, nth);
end
$$;
