-- Removes a group from all commands that declare it, with everything that belongs to it. Answers whether there was one.
--
-- Takes the admission locks of number 0 and of the group before any row, then locks the tasks behind its keys by
-- number.
create or replace function kinfolk.remove_group(p_command text, p_name text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_group integer := kinfolk.group_of(p_command, p_name);
begin
    if p_name is null then
        raise exception using errcode = 'KF001', message = 'p_name is null',
            hint = 'give the name of a group';
    end if;
    perform kinfolk.require_read_committed();
    perform kinfolk.lock_groups(array[0, v_group]);
    -- point: remove_group.locked
    if not exists (select from kinfolk.slot_group g where g.id = v_group) then
        return false;
    end if;
    with undeclared as (
        delete from kinfolk.command_group cg
        where cg.group_id = v_group
        returning cg.command_id
    )
    update kinfolk.command c
    set grouped = false
    from undeclared u
    where c.id = u.command_id
        and not exists (
            select
            from kinfolk.command_group o
            where o.command_id = c.id
                and o.group_id <> v_group);
    perform kinfolk.erase_group(v_group);
    return true;
end
$$;
