-- Applies a sibling, made under the same key at the same moment, to the task that stays, by the sibling's own rule.
create or replace function kinfolk.apply_sibling(p_task bigint, p_sibling bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.apply_duplicates(p_sibling);
    update kinfolk.task t
    set payload = case s.on_duplicate
            when 'replace' then kinfolk.payload_of(s.id)
            else kinfolk.merged(kinfolk.payload_of(t.id), kinfolk.payload_of(s.id))
        end
    from kinfolk.task s
    where t.id = p_task
        and s.id = p_sibling
        and s.on_duplicate <> 'keep';
end
$$;
