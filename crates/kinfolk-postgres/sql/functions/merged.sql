-- An older payload with a newer one laid over it: objects are merged key by key, at any depth; in all other places the
-- newer value wins.

create or replace function kinfolk.merged(older jsonb, newer jsonb) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if jsonb_typeof(older) <> 'object' or jsonb_typeof(newer) <> 'object' then
        return newer;
    end if;
    return older || coalesce((
        select jsonb_object_agg(n.key, case when older ? n.key then kinfolk.merged(older -> n.key, n.value) else n.value end)
        from jsonb_each(newer) n), '{}');
end
$$;

-- Payloads laid over one another, the oldest first: the same as `merged` from the first to the last, in one pass over all of
-- them, whatever their number.
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

-- A payload with newer ones laid in, in this order, each by its own rule.
create or replace function kinfolk.laid_in(p_payload jsonb, p_rules kinfolk.on_duplicate[], p_newer jsonb[]) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_replaced integer := (
        select max(r.nth)
        from unnest(p_rules) with ordinality as r(rule, nth)
        where r.rule = 'replace');
begin
    if cardinality(p_newer) is null then
        return p_payload;
    end if;
    return kinfolk.merged_all(case when v_replaced is null then array_prepend(p_payload, p_newer) else p_newer[v_replaced:] end);
end
$$;
