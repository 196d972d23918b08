-- The part of declared groups that decides which tasks hold slots: their names, and whether each is shared and has `hold`.
create or replace function kinfolk.shape_of(p_groups jsonb) returns jsonb
language sql immutable
as $$
    select coalesce(jsonb_object_agg(g.name, jsonb_build_array(
        coalesce((g.spec ->> 'hold')::boolean, false), coalesce((g.spec ->> 'shared')::boolean, false))), '{}')
    from jsonb_each(p_groups) as g(name, spec)
$$;
