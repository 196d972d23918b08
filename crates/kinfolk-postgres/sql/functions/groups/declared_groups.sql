-- The declared groups of a command, null for none.
create or replace function kinfolk.declared_groups(p_command integer) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select jsonb_object_agg(cg.name, jsonb_build_object('limit', g.slots, 'hold', g.hold, 'shared', g.command_id is null,
        'rate', case when g.rate_count is not null
            then jsonb_build_object('count', g.rate_count, 'per_us', g.rate_per_us, 'burst', g.rate_burst) end))
    from kinfolk.command_group cg
    join kinfolk.slot_group g on g.id = cg.group_id
    where cg.command_id = p_command
$$;
