-- Makes the groups of a command exactly these. An operator's settings stay as long as the group exists. Running tasks hold
-- slots of their keys in these groups from now on. The caller has the admission locks (`lock_declarations`).
--
-- `p_groups`: an object of specifications by name, as `kinfolk_core::group::Groups` is written, each with `limit`, `rate`
-- (`count`, `per_us`, `burst`), `hold`, `shared`.

create or replace function kinfolk.declare_groups(p_command integer, p_groups jsonb) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_one record;
    v_group integer;
    v_was record;
    -- Where some may have come to need a slot, or to hold none.
    v_moved integer[] := '{}';
begin
    for v_one in
        select d.name, (d.spec ->> 'limit')::integer as slots, coalesce((d.spec ->> 'hold')::boolean, false) as hold,
            coalesce((d.spec ->> 'shared')::boolean, false) as is_shared,
            (d.spec #>> '{rate,count}')::integer as rate_count, (d.spec #>> '{rate,per_us}')::bigint as rate_per_us,
            (d.spec #>> '{rate,burst}')::integer as rate_burst
        from jsonb_each(p_groups) as d(name, spec)
        order by d.name collate "C"
    loop
        select g.id
        into v_group
        from kinfolk.slot_group g
        where g.name = v_one.name
            and g.command_id is not distinct from case when not v_one.is_shared then p_command end;
        if not found then
            insert into kinfolk.slot_group (command_id, name)
            values (case when not v_one.is_shared then p_command end, v_one.name)
            returning id into v_group;
        end if;
        select cg.group_id, g.hold
        into v_was
        from kinfolk.command_group cg
        join kinfolk.slot_group g on g.id = cg.group_id
        where cg.command_id = p_command
            and cg.name = v_one.name;
        if v_was.group_id is distinct from v_group then
            v_moved := v_moved || v_group;
        end if;
        if v_was.group_id <> v_group then
            v_moved := v_moved || v_was.group_id;
            if v_was.hold and v_one.hold then
                perform kinfolk.carry_over(p_command, v_was.group_id, v_group);
            end if;
            perform kinfolk.leave_group(p_command, v_was.group_id);
        end if;
        insert into kinfolk.command_group (command_id, name, group_id)
        values (p_command, v_one.name, v_group)
        on conflict do nothing;
        update kinfolk.slot_group g
        set
            slots = v_one.slots,
            rate_count = v_one.rate_count,
            rate_per_us = v_one.rate_per_us,
            rate_burst = v_one.rate_burst,
            hold = v_one.hold
        where g.id = v_group
            and (g.slots, g.rate_count, g.rate_per_us, g.rate_burst, g.hold) is distinct from
                (v_one.slots, v_one.rate_count, v_one.rate_per_us, v_one.rate_burst, v_one.hold);
        if found then
            if not v_one.hold then
                perform kinfolk.free_idle(v_group);
                v_moved := v_moved || v_group;
            end if;
            perform kinfolk.rein_in(v_group, kinfolk.clock());
            perform kinfolk.add_ready_group(v_group);
        end if;
    end loop;
    for v_was in
        select cg.group_id
        from kinfolk.command_group cg
        where cg.command_id = p_command
            and not p_groups ? cg.name
        order by cg.group_id
    loop
        perform kinfolk.leave_group(p_command, v_was.group_id);
        v_moved := v_moved || v_was.group_id;
    end loop;
    if v_moved <> '{}' then
        perform kinfolk.count_running(array(select distinct g.id from kinfolk.slot_group g where g.id = any (v_moved)));
    end if;
    update kinfolk.command c
    set grouped = p_groups <> '{}'
    where c.id = p_command
        and c.grouped <> (p_groups <> '{}');
end
$$;
