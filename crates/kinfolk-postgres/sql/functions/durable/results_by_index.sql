-- The children of a fan-out in their own order, from this one on. A page of children is joined with all ends, of which the
-- planner knows nothing. The join hashes them; one by one they would be read again for every child.
create or replace function kinfolk.results_by_index(p_fan_out bigint, p_from integer, p_limit integer)
returns table (nth integer, task bigint, state text, ended integer, result jsonb, failure jsonb, attempt smallint)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_hashjoin = on
set enable_nestloop = off
as $$
#variable_conflict use_column
begin
    return query
    select t.nth, t.id, t.state::text, e.ended, t.result, t.failure, t.attempt
    from kinfolk.task t
    left join (
        select n.nth, (p.first + n.ordinal - 1)::integer as ended
        from kinfolk.ended_page p
        cross join lateral unnest(p.nths) with ordinality as n(nth, ordinal)
        where p.fan_out_id = p_fan_out
            and n.nth >= p_from
            and n.nth < p_from::bigint + p_limit
    ) e on e.nth = t.nth
    where t.fan_out_id = p_fan_out
        and t.nth >= p_from
        and t.nth < p_from::bigint + p_limit
    order by t.nth;
end
$$;
