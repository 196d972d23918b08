-- The cursors of a claim for some of its commands. Cursors are given for all commands in the lane `top`, then for all
-- commands in the lane `child`.
create or replace function kinfolk.cursors_for(
    p_some text[], p_commands text[], p_low_priority integer[], p_low_position timestamptz[], p_low_id bigint[],
    out low_priority integer[], out low_position timestamptz[], out low_id bigint[]
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    select coalesce(array_agg(p_low_priority[m.nth] order by m.lane, s.nth), '{}'),
        coalesce(array_agg(p_low_position[m.nth] order by m.lane, s.nth), '{}'),
        coalesce(array_agg(p_low_id[m.nth] order by m.lane, s.nth), '{}')
    into low_priority, low_position, low_id
    from unnest(p_some) with ordinality as s(name, nth)
    cross join lateral (
        select l.lane, array_position(p_commands, s.name) + l.lane * cardinality(p_commands) as nth
        from generate_series(0, 1) as l(lane)
    ) m;
end
$$;
