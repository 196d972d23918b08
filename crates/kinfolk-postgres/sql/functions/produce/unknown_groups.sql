-- Which of these tasks, given by their commands and keys, name a group that their command does not have: 1 is the first.
create or replace function kinfolk.unknown_groups(p_commands text[], p_slot_keys jsonb[]) returns integer[]
language plpgsql stable
as $$
begin
    return array(
        with declared as materialized (
            select c.name, array(select cg.name from kinfolk.command_group cg where cg.command_id = c.id) as groups
            from kinfolk.command c
            where c.name = any (p_commands)
        )
        select g.nth
        from unnest(p_commands, p_slot_keys) with ordinality as g(command, keys, nth)
        join declared d on d.name = g.command
        where g.keys - d.groups <> '{}');
end
$$;
