-- Payloads laid over one another, the oldest first: the same as `merged` from the first to the last, in one pass over all of
-- them, however many.
create or replace function kinfolk.merged_all(p_values jsonb[]) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_many integer := cardinality(p_values);
    -- The last value that is no object covers all before it.
    v_last integer := (
        select coalesce(max(v.nth), 0)
        from unnest(p_values) with ordinality as v(value, nth)
        where jsonb_typeof(v.value) <> 'object');
begin
    if v_last = v_many or v_many = 1 then
        return p_values[v_many];
    end if;
    return (
        with members as (
            select m.key, array_agg(m.value order by v.nth) as values
            from unnest(p_values) with ordinality as v(value, nth)
            cross join lateral jsonb_each(v.value) m
            where v.nth > v_last
            group by m.key
        )
        select coalesce(jsonb_object_agg(m.key, kinfolk.merged_all(m.values)), '{}')
        from members m);
end
$$;
