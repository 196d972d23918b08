-- Takes the admission locks of all groups of the commands of a claim, before any row. If one of them is not free at once, the
-- claim goes on with its commands without groups, provided that one of these has an open task. Otherwise it waits, for a
-- second at most. Returns the commands to go on with; the groups, null for none; whether commands were left out; the commands
-- with groups, the commands with a total, and whether a group has `hold`.
create or replace function kinfolk.lock_admission(
    p_queue integer, p_commands text[],
    out commands text[], out groups integer[], out busy boolean, out grouped integer[], out total integer[], out holds boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_plain text[];
    v_had integer[];
begin
    commands := p_commands;
    busy := false;
    select d.groups, d.grouped, d.total, d.holds into groups, grouped, total, holds from kinfolk.declared_by(p_commands) d;
    if groups is null or kinfolk.try_lock_groups(groups) then
        v_had := groups;
    else
        v_plain := kinfolk.without_groups(p_commands);
        if not kinfolk.has_open_task(p_queue, v_plain) and kinfolk.wait_for_groups(groups) then
            v_had := groups;
        end if;
    end if;
    if v_had is not null then
        -- They may have been declared otherwise before the locks were had.
        select d.groups, d.grouped, d.total, d.holds into groups, grouped, total, holds from kinfolk.declared_by(p_commands) d;
    end if;
    if v_had is distinct from groups then
        commands := kinfolk.without_groups(p_commands);
        groups := null;
        busy := true;
    end if;
end
$$;
