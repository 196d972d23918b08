-- The groups, among these, with a task behind one of their keys. Reads the heads of their ranges in `task_blocked`.
create or replace function kinfolk.awaited_groups(p_groups integer[]) returns integer[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return array(
        select g.id
        from (select distinct u as id from unnest(p_groups) u) g
        cross join lateral (
            select
            from kinfolk.task t
            where t.blocked_group = g.id
                and t.gate = 'limit'
            -- Said so that no other index on the gate is thought of.
            order by t.blocked_group, t.blocked_key
            limit 1
        ) w);
end
$$;
