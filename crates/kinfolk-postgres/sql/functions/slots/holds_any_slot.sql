-- Whether a task holds a slot of one of its keys.
create or replace function kinfolk.holds_any_slot(p_task bigint, p_command integer, p_keys jsonb) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
        select
        from kinfolk.command_group cg
        where cg.command_id = p_command
            and kinfolk.holds_slot(p_task, cg.group_id, coalesce(p_keys ->> cg.name, '')));
end
$$;
