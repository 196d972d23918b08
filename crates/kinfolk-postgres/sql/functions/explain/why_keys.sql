-- The reasons that keep a task back under its keys, for each key: its slots are taken, its room is kept for another task,
-- its rate is used up. `name`: that of the group. Reads the pages of `slot_holder` on which those keys stand.
create or replace function kinfolk.why_keys(p_task kinfolk.task, p_now timestamptz)
returns table (nth integer, reason text, detail jsonb, name text)
language sql stable
as $$
    with need as materialized (
        select cg.group_id, cg.name, coalesce(p_task.keys ->> cg.name, '') as key, g.command_id,
            not (g.hold and kinfolk.family_holds_slot(p_task.id, g.id, coalesce(p_task.keys ->> cg.name, ''))) as takes,
            row_number() over (order by cg.name) as nth
        from kinfolk.command_group cg
        join kinfolk.slot_group g on g.id = cg.group_id
        where cg.command_id = p_task.command_id
            and (cg.name = 'total' or p_task.keys ? cg.name)
    ),
    listed as materialized (
        select array_agg(n.group_id order by n.nth) as groups, array_agg(n.key order by n.nth) as keys from need n
    ),
    room as materialized (
        select n.group_id, n.name, n.key, s.slots, h.held, h.ids, s.slots - h.held as free, r.starts, r.opens_at,
            case when r.keeps then r.kept_for end as kept_for, n.takes,
            jsonb_build_object('key', n.key, 'group', jsonb_build_object('name', n.name, 'command', c.name)) as named
        from listed l
        cross join lateral kinfolk.key_rooms(l.groups, l.keys, p_now) r
        join need n on n.group_id = r.group_id and n.key = r.key
        left join kinfolk.command c on c.id = n.command_id
        cross join lateral (select kinfolk.slots_of(n.group_id, n.key) as slots) s
        cross join lateral (
            select count(*) as held, array_agg(h.task_id order by h.task_id) as ids
            from kinfolk.holders_of(n.group_id, n.key) h
        ) h
    )
    select 10, 'key_full',
        r.named || jsonb_build_object('limit', r.slots, 'held', r.held, 'holders', kinfolk.shown(r.ids)), r.name
    from room r
    where r.takes
        and r.free <= 0
    union all
    select 11, 'key_kept', r.named || jsonb_build_object('task', r.kept_for), r.name
    from room r
    where r.kept_for <> p_task.id
        and ((r.takes and r.free = 1) or r.starts = 1)
    union all
    select 12, 'key_rate', r.named || jsonb_build_object('until', r.opens_at), r.name
    from room r
    where r.starts <= 0
$$;
