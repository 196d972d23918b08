-- The keys of tasks, by the names of groups.

-- The first group, by name, that these keys name and the command does not have; null if there is none.
create or replace function kinfolk.unknown_group(p_command integer, p_keys jsonb) returns text
language sql stable
as $$
    select min(k.name collate "C")
    from jsonb_object_keys(p_keys) as k(name)
    where not exists (
        select
        from kinfolk.command_group cg
        where cg.command_id = p_command
            and cg.name = k.name)
$$;

-- The keys of a task that takes those of its maker too, where its command has groups for them and it gives none itself.
create or replace function kinfolk.inherited_keys(p_command integer, p_keys jsonb, p_maker jsonb) returns jsonb
language sql stable
as $$
    select nullif(coalesce((
            select jsonb_object_agg(m.name, m.key)
            from jsonb_each(p_maker) as m(name, key)
            join kinfolk.command_group cg on cg.command_id = p_command and cg.name = m.name), '{}')
        || coalesce(p_keys, '{}'), '{}')
$$;

-- Gives tasks that were made in this transaction their keys. Those that were not made after all are passed over.
create or replace function kinfolk.give_keys(p_ids bigint[], p_keys jsonb[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
begin
    update kinfolk.task t
    set keys = g.keys
    from unnest(p_ids, p_keys) as g(id, keys)
    where t.id = g.id
        and g.keys is not null;
end
$$;

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
