-- Refuses keys that no store would keep, as `kinfolk_core::group::Keys::check` does.
create or replace function kinfolk.require_keys(p_keys jsonb[]) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_bad record;
begin
    for v_bad in
        select g.keys, k.name, k.key
        from (
            select g.keys
            from unnest(p_keys) as g(keys)
            -- Most go by one look: what is as short as this has neither too many keys nor one that is too long.
            where not (jsonb_typeof(g.keys) = 'object'
                and pg_column_size(g.keys) <= 128
                and not g.keys ? 'total'
                and not g.keys @? 'strict $.* ? (@.type() != "string" || @ == "")')
            offset 0
        ) g
        left join lateral jsonb_each(case when jsonb_typeof(g.keys) = 'object' then g.keys end) as k(name, key) on true
        where jsonb_typeof(g.keys) <> 'object'
            or k.name = 'total'
            or jsonb_typeof(k.key) <> 'string'
            or octet_length(k.key #>> '{}') not between 1 and kinfolk.group_key_bytes_max()
            or (select count(*) from jsonb_object_keys(g.keys)) > kinfolk.groups_max()
        limit 1
    loop
        if jsonb_typeof(v_bad.keys) <> 'object' then
            raise exception using errcode = 'KF001', message = 'the keys of a task must be an object of keys by group';
        elsif v_bad.name = 'total' then
            raise exception using errcode = 'KF001',
                message = 'a key for the group total; every task of its command is in it';
        elsif (select count(*) from jsonb_object_keys(v_bad.keys)) > kinfolk.groups_max() then
            raise exception using errcode = 'KF001', message = format('a task has at most %s keys', kinfolk.groups_max());
        else
            raise exception using errcode = 'KF001',
                message = format('key %s for group %s', left(v_bad.key::text, 60), v_bad.name),
                hint = format('it must be a text of 1 to %s bytes', kinfolk.group_key_bytes_max());
        end if;
    end loop;
    return true;
end
$$;
