-- The keys of a task that inherits from its maker: the maker's keys for the groups of its command, except where the task
-- gives its own.
create or replace function kinfolk.inherited_keys(p_command integer, p_keys jsonb, p_maker jsonb) returns jsonb
language sql stable
as $$
    select nullif(coalesce((
            select jsonb_object_agg(m.name, m.key)
            from jsonb_each(p_maker) as m(name, key)
            join kinfolk.command_group cg on cg.command_id = p_command and cg.name = m.name), '{}')
        || coalesce(p_keys, '{}'), '{}')
$$;
