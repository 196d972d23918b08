-- The groups that these commands declare, null for none; the commands with groups, and the commands with a total.
create or replace function kinfolk.declared_by(
    p_commands text[], out groups integer[], out grouped integer[], out total integer[], out holds boolean
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    select array_agg(distinct cg.group_id), coalesce(array_agg(distinct c.id), '{}'),
        coalesce(array_agg(c.id) filter (where cg.name = 'total'), '{}'), bool_or(cg.hold)
    into groups, grouped, total, holds
    from kinfolk.command c
    cross join lateral (
        select cg.group_id, cg.name, g.hold
        from kinfolk.command_group cg
        join kinfolk.slot_group g on g.id = cg.group_id
        where cg.command_id = c.id
        offset 0
    ) cg
    where c.name = any (p_commands)
        and c.grouped;
end
$$;
