-- The children of an awaited fan-out, from this one on: in their own order, or (`p_by_ended`) the ended ones in the order of
-- their ends. Errors: KF002 when there is no such fan-out, or no handler awaits it.
create or replace function kinfolk.results(p_fan_out bigint, p_by_ended boolean, p_from integer, p_limit integer)
returns table (nth integer, task bigint, state text, ended integer, result jsonb, failure jsonb, attempt smallint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
declare
    v_limit integer := least(greatest(p_limit, 0), kinfolk.page_max());
begin
    if not exists (select from kinfolk.fan_out f where f.id = p_fan_out and f.rule is not null) then
        raise exception using errcode = 'KF002', message = format('there is no fan-out %s', coalesce(p_fan_out::text, 'null'));
    end if;
    if not p_by_ended then
        return query select r.* from kinfolk.results_by_index(p_fan_out, p_from, v_limit) r;
        return;
    end if;
    return query
    select e.nth, t.id, t.state::text, e.ended, t.result, t.failure, t.attempt
    from (
        select n.nth, (p.first + n.ordinal - 1)::integer as ended
        from kinfolk.ended_page p
        cross join lateral unnest(p.nths) with ordinality as n(nth, ordinal)
        where p.fan_out_id = p_fan_out
            and p.first < p_from::bigint + v_limit
            -- The page that the first one stands on begins at or before it.
            and p.first >= coalesce((
                select max(b.first)
                from kinfolk.ended_page b
                where b.fan_out_id = p_fan_out
                    and b.first <= p_from), 0)
    ) e
    cross join lateral (
        select t.id, t.state, t.result, t.failure, t.attempt
        from kinfolk.task t
        where t.fan_out_id = p_fan_out
            and t.nth = e.nth
        offset 0
    ) t
    where e.ended >= p_from
        and e.ended < p_from::bigint + v_limit
    order by e.ended;
end
$$;
