-- `add_awaited_keys` for all keys of a group.
create or replace function kinfolk.add_ready_group(p_group integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_keys text[];
begin
    with recursive awaited as (
        (
            select t.blocked_key as key
            from kinfolk.task t
            where t.blocked_group = p_group
                and t.gate = 'limit'
            order by t.blocked_group, t.blocked_key
            limit 1
        )
        union all
        select n.key
        from awaited a
        cross join lateral (
            select t.blocked_key as key
            from kinfolk.task t
            where t.blocked_group = p_group
                and t.blocked_key > a.key
                and t.gate = 'limit'
            order by t.blocked_group, t.blocked_key
            limit 1
        ) n
    )
    select array_agg(a.key) into v_keys from awaited a;
    perform kinfolk.add_awaited_keys(p_group, v_keys);
end
$$;
