-- Makes the children of fan-outs that are awaited, so many of each, all by one statement: those from `p_from` on of what was made.
create or replace function kinfolk.make_awaited(
    p_maker kinfolk.maker, p_fan_outs bigint[], p_sizes integer[], p_from integer, p_made kinfolk.made
) returns void
language plpgsql volatile
as $$
declare
    v_of bigint[];
    v_nths integer[];
begin
    if cardinality(p_fan_outs) = 1 then
        v_of := array_fill(p_fan_outs[1], p_sizes);
        v_nths := array(select generate_series(0, p_sizes[1] - 1));
    else
        select array_agg(f.id order by f.place, n), array_agg(n order by f.place, n)
        into v_of, v_nths
        from unnest(p_fan_outs, p_sizes) with ordinality as f(id, size, place)
        cross join lateral generate_series(0, f.size - 1) n;
    end if;
    perform kinfolk.insert_children(p_maker, v_of, v_nths, null, p_from, p_made);
end
$$;
