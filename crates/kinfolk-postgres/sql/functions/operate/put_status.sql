-- Makes a status, or changes the commands that it watches, and looks at it at once. Takes the lock of the statuses
-- (advisory), then locks the row. Reads what `is_active` reads.
create or replace function kinfolk.put_status(p_name text, p_commands text[]) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_was boolean;
    v_is boolean;
begin
    if p_commands is null then
        raise exception using errcode = 'KF001', message = 'p_commands is null',
            hint = 'give the commands that the status watches';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.require_name('status', p_name);
    perform kinfolk.require_name('command', c) from unnest(p_commands) c;
    if cardinality(p_commands) > kinfolk.status_commands_max() then
        raise exception using errcode = 'KF001', message = format('%s commands of a status', cardinality(p_commands)),
            hint = format('at most %s', kinfolk.status_commands_max());
    end if;
    perform pg_advisory_xact_lock(1263160907, 0);
    v_was := (select s.active from kinfolk.status s where s.name = p_name);
    v_is := kinfolk.is_active(p_commands);
    insert into kinfolk.status as s (name, commands, active, changed_at)
    values (p_name, p_commands, v_is, kinfolk.clock())
    on conflict (name) do update set
        commands = excluded.commands,
        active = excluded.active,
        changed_at = case when s.active = excluded.active then s.changed_at else excluded.changed_at end;
    if v_is <> coalesce(v_was, false) then
        perform pg_notify('kinfolk_status', json_build_object('name', p_name, 'active', v_is)::text);
    end if;
end
$$;
