-- The number of a group: of a command, or a shared one where the command is null. Null if there is none.
create or replace function kinfolk.group_of(p_command text, p_name text) returns integer
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select g.id
    from kinfolk.slot_group g
    where g.name = p_name
        and case
            when p_command is null then g.command_id is null
            else g.command_id = (select c.id from kinfolk.command c where c.name = p_command)
        end
$$;
