-- The first group, by name, that these keys name and the command does not have; null if there is none.
create or replace function kinfolk.unknown_group(p_command integer, p_keys jsonb) returns text
language sql stable
as $$
    select min(k.name collate "C")
    from jsonb_object_keys(p_keys) as k(name)
    where not exists (
        select
        from kinfolk.command_group cg
        where cg.command_id = p_command
            and cg.name = k.name)
$$;
