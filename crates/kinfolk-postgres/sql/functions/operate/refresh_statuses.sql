-- Looks at every status again, turns those that have changed, and says so on the channel `kinfolk_status`. Answers the turns,
-- by name. One that was idle and is idle, and of whose commands tasks were started since the last look, was active in between:
-- both turns are told, first the one and then the other.
--
-- Locks the statuses (an advisory lock of their own), then the rows of `started` and `status`. Reads what `is_active` reads.

create or replace function kinfolk.refresh_statuses()
returns table (name text, commands text[], active boolean, changed_at timestamptz)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
#variable_conflict use_column
declare
    v_started text[];
    v_status record;
begin
    perform kinfolk.require_read_committed();
    if not exists (select from kinfolk.status) then
        return;
    end if;
    perform pg_advisory_xact_lock(1263160907, 0);
    changed_at := kinfolk.clock();
    -- Before the look, so that what starts after it is left for the next one.
    with taken as (
        delete from kinfolk.started s returning s.command_id
    )
    select array_agg(c.name) into v_started from kinfolk.command c where c.id in (select t.command_id from taken t);
    for v_status in
        select s.name, s.commands, s.active as was_active, kinfolk.is_active(s.commands) as is_active,
            coalesce(s.commands && v_started, false) as has_started
        from kinfolk.status s
        order by s.name
    loop
        if v_status.is_active = v_status.was_active and (v_status.is_active or not v_status.has_started) then
            continue;
        end if;
        update kinfolk.status s
        set
            active = v_status.is_active,
            changed_at = refresh_statuses.changed_at
        where s.name = v_status.name;
        name := v_status.name;
        commands := v_status.commands;
        foreach active in array
            case when v_status.is_active = v_status.was_active then array[true, false] else array[v_status.is_active] end
        loop
            perform pg_notify('kinfolk_status', json_build_object('name', name, 'active', active)::text);
            return next;
        end loop;
    end loop;
end
$$;
