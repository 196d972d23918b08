-- Keys as people write them, in the one form that the rest understands: a number is its text, and a key of null skips its group.
create or replace function kinfolk.keys_given(p_keys jsonb) returns jsonb
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
begin
    if jsonb_typeof(p_keys) <> 'object' or not p_keys @? 'strict $.* ? (@.type() == "null" || @.type() == "number")' then
        return p_keys;
    end if;
    return coalesce((
        select jsonb_object_agg(k.name, case jsonb_typeof(k.key) when 'number' then to_jsonb(k.key #>> '{}') else k.key end)
        from jsonb_each(p_keys) as k(name, key)
        where jsonb_typeof(k.key) <> 'null'), '{}');
end
$$;
