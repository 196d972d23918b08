-- Writes the order anew in which the children of a fan-out ended that have: those that it knew of in their old order, then the
-- others by `nth`.
create or replace function kinfolk.reorder(p_fan_out bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set enable_hashjoin = on
set enable_nestloop = off
as $$
declare
    v_nths integer[] := array(
        select c.nth
        from kinfolk.task c
        left join (
            select n.nth, p.first + n.ordinal as ordinal
            from kinfolk.ended_page p
            cross join lateral unnest(p.nths) with ordinality as n(nth, ordinal)
            where p.fan_out_id = p_fan_out
        ) o on o.nth = c.nth
        where c.fan_out_id = p_fan_out
            and c.state >= 'completed'
        order by o.ordinal, c.nth);
begin
    delete from kinfolk.ended_page p where p.fan_out_id = p_fan_out;
    insert into kinfolk.ended_page (fan_out_id, first, nths)
    select p_fan_out, i, v_nths[i + 1:i + kinfolk.page_max()]
    from generate_series(0, cardinality(v_nths) - 1, kinfolk.page_max()) i;
end
$$;
