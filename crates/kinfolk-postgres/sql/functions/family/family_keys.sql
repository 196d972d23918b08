-- The locks of families, in the order in which they are taken. A lock that is needed both shared and exclusively is taken
-- exclusively. Has no settings of its own, so that the planner inlines it.
create or replace function kinfolk.family_keys(p_shared bigint[], p_whole bigint[]) returns table (key integer, whole boolean)
language sql immutable
as $$
    select hashint8(r.root) & 255, bool_or(r.whole)
    from (
        select s as root, false as whole from unnest(p_shared) s
        union all
        select w, true from unnest(p_whole) w
    ) r
    group by 1
    order by 1
$$;
