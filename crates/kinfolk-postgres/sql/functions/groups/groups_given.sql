-- Groups as people write them, in the form of the engine.
create or replace function kinfolk.groups_given(p_groups jsonb) returns jsonb
language sql immutable
as $$
    select case jsonb_typeof(p_groups)
        when 'number' then jsonb_build_object('total', kinfolk.group_given(p_groups))
        when 'object' then (
            select coalesce(jsonb_object_agg(g.name, kinfolk.group_given(g.spec)), '{}')
            from jsonb_each(p_groups) as g(name, spec))
        else p_groups
    end
$$;
