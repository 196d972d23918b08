-- The commands of a claim, each with the position behind which to look in this lane; null: at the head.
create or replace function kinfolk.cursors_of_lane(
    p_commands text[], p_lane kinfolk.lane, p_low_priority integer[], p_low_position timestamptz[], p_low_id bigint[]
) returns table (name text, priority integer, "position" timestamptz, id bigint)
language sql immutable
as $$
    select g.name, p_low_priority[l.nth], p_low_position[l.nth], p_low_id[l.nth]
    from unnest(p_commands) with ordinality as g(name, nth)
    cross join lateral (
        select g.nth + case p_lane when 'top' then 0 when 'child' then cardinality(p_commands) end as nth
    ) l
$$;
