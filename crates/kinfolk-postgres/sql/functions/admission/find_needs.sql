-- The keys that the candidates of a page need. Reads declarations, and in groups with `hold` the pages of the task and its ancestors.
-- Runs under the settings of the claim.
create or replace function kinfolk.find_needs(p_page kinfolk.claim_page) returns kinfolk.claim_needs
language plpgsql stable
as $$
declare
    v_needs kinfolk.claim_needs;
begin
    with declared as materialized (
        select d.* from kinfolk.declarations(p_page.commands) d
    ),
    need as materialized (
        select g.nth, g.id, d.group_id, coalesce(g.keys ->> d.name, '') as key, d.is_plain,
            not (d.hold and kinfolk.family_holds_slot(g.id, d.group_id, coalesce(g.keys ->> d.name, ''))) as takes
        from unnest(p_page.ids, p_page.commands, p_page.keys) with ordinality as g(id, command_id, keys, nth)
        join declared d on d.command_id = g.command_id
        where d.name = 'total'
            or g.keys ? d.name
    )
    select array_agg(n.nth::integer), array_agg(n.id), array_agg(n.group_id), array_agg(n.key), array_agg(n.takes), bool_and(n.is_plain)
    into v_needs.candidates, v_needs.tasks, v_needs.groups, v_needs.keys, v_needs.takes, v_needs.all_plain
    from need n;
    return v_needs;
end
$$;
