-- The locks of families, in the order in which they are taken. One that both sorts of families need is taken whole. Without
-- settings of its own, so that it is planned as a part of whoever asks.
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
