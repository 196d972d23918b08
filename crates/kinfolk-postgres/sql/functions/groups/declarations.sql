-- The groups of these commands, which may be given more than once. `is_plain`: the group has one limit for all keys and
-- nothing else to look at. Has no settings of its own, so that the planner inlines it.
create or replace function kinfolk.declarations(p_commands integer[])
returns table (command_id integer, name text, group_id integer, hold boolean, is_plain boolean)
language sql stable
as $$
    select cg.command_id, cg.name, cg.group_id, g.hold,
        not g.hold
            and g.rate_count is null
            and g.set_rate_count is null
            and not exists (select from kinfolk.slot_setting s where s.group_id = g.id)
            and not exists (select from kinfolk.spent s where s.group_id = g.id)
            and not exists (select from kinfolk.reserved r where r.group_id = g.id)
    from kinfolk.command_group cg
    join kinfolk.slot_group g on g.id = cg.group_id
    where cg.command_id = any (p_commands)
$$;
