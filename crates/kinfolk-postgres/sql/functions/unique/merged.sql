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
