-- Refuses groups that no store would keep, as `kinfolk_core::group::Groups::check` does.
create or replace function kinfolk.require_groups(p_groups jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
    v_one record;
begin
    if jsonb_typeof(p_groups) <> 'object' then
        raise exception using errcode = 'KF001', message = 'groups must be an object of groups by name';
    end if;
    if (select count(*) from jsonb_object_keys(p_groups)) > kinfolk.groups_max() then
        raise exception using errcode = 'KF001', message = format('a command has at most %s groups', kinfolk.groups_max());
    end if;
    for v_one in select d.name, d.spec from jsonb_each(p_groups) as d(name, spec) loop
        perform kinfolk.require_name('group', v_one.name);
        if exists (
            select
            from unnest(array[v_one.spec -> 'limit', v_one.spec #> '{rate,count}', v_one.spec #> '{rate,per_us}',
                v_one.spec #> '{rate,burst}']) as g(number)
            where not kinfolk.is_whole(g.number))
            or coalesce(jsonb_typeof(v_one.spec -> 'hold'), 'null') not in ('boolean', 'null')
            or coalesce(jsonb_typeof(v_one.spec -> 'shared'), 'null') not in ('boolean', 'null')
        then
            raise exception using errcode = 'KF001', message = format('group %s is %s', v_one.name, left(v_one.spec::text, 100)),
                hint = 'limit, count and burst are whole numbers, hold and shared true or false';
        end if;
        if v_one.name = 'total' and (v_one.spec ->> 'shared')::boolean then
            raise exception using errcode = 'KF001', message = 'a command''s total can''t be shared',
                hint = 'declare a group of another name';
        elsif v_one.spec ->> 'limit' is null and jsonb_typeof(v_one.spec -> 'rate') is distinct from 'object' then
            raise exception using errcode = 'KF001', message = format('group %s has neither a limit nor a rate', v_one.name),
                hint = 'give it one';
        end if;
        perform kinfolk.require_setting((v_one.spec ->> 'limit')::bigint, (v_one.spec #>> '{rate,count}')::bigint,
            (v_one.spec #>> '{rate,per_us}')::bigint, (v_one.spec #>> '{rate,burst}')::bigint);
    end loop;
end
$$;
