-- The families that a settle of these tasks locks, for a caller that does not know them: those of tasks that have a parent, and, as
-- `suspended`, those of tasks that were suspended before, which it locks whole. Locks nothing; reads the tasks by their keys.

create or replace function kinfolk.families_of(p_ids bigint[], out families bigint[], out suspended bigint[])
language plpgsql stable
as $$
begin
    select coalesce(array_agg(distinct t.root_id) filter (where t.root_id is not null), '{}'),
        array_agg(distinct coalesce(t.root_id, t.id)) filter (where t.was_suspended)
    into families, suspended
    from unnest(p_ids) as g(id)
    join kinfolk.task t on t.id = g.id;
end
$$;
