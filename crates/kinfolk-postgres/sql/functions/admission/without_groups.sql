-- The commands, among these, without groups.
create or replace function kinfolk.without_groups(p_commands text[]) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return array(
        select c.name
        from unnest(p_commands) with ordinality as c(name, nth)
        where not exists (select from kinfolk.command g where g.name = c.name and g.grouped)
        order by c.nth);
end
$$;
