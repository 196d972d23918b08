-- Groups as they are: what they are declared as, by which commands, and what an operator has set for all keys (`set`) or for single ones
-- (`keys`). Shared ones by name, then those of commands by command and name.

create or replace function kinfolk.groups()
returns table (name text, command text, commands text[], declared jsonb, set jsonb, keys jsonb)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
    select g.name, c.name, d.commands,
        kinfolk.setting_shown(g.slots, g.rate_count, g.rate_per_us, g.rate_burst)
            || jsonb_build_object('hold', g.hold, 'shared', g.command_id is null),
        kinfolk.setting_shown(g.set_slots, g.set_rate_count, g.set_rate_per_us, g.set_rate_burst),
        k.keys
    from kinfolk.slot_group g
    left join kinfolk.command c on c.id = g.command_id
    cross join lateral (
        select array_agg(o.name order by o.name) as commands
        from kinfolk.command_group cg
        join kinfolk.command o on o.id = cg.command_id
        where cg.group_id = g.id
    ) d
    cross join lateral (
        select coalesce(jsonb_object_agg(s.key, kinfolk.setting_shown(s.slots, s.rate_count, s.rate_per_us, s.rate_burst)), '{}') as keys
        from kinfolk.slot_setting s
        where s.group_id = g.id
    ) k
    order by c.name nulls first, g.name
$$;
