-- Locks and returns the next candidates of a claim in order, behind a cursor: open tasks, suspects, tasks behind ready keys,
-- and tasks with a reservation. Rows behind the last row read of a line are unknown, so the candidates end there. Behind a
-- ready key hardly more rows are read (`p_slack`) than it has room for. If all of them start, that key has nothing more to
-- give. If other keys block some of them, the rest of that line comes before later candidates of other lines: `edges` is that
-- rank for each candidate, `ranks` its own. `last`: the task behind which to go on, if other calls have locked all
-- candidates.
create or replace function kinfolk.line_up(
    p_queue integer, p_commands text[], p_groups integer[], p_size integer, p_lanes kinfolk.lane[], p_top_room integer,
    p_child_room integer, p_ready_commands integer[], p_ready_groups integer[], p_ready_keys text[], p_reserved boolean,
    p_suspects boolean, p_low_priority integer[], p_low_position timestamptz[], p_low_id bigint[], p_priority integer,
    p_position timestamptz, p_id bigint, p_slack integer, p_now timestamptz,
    out ids bigint[], out commands integer[], out keys jsonb[], out ranks integer[], out edges integer[],
    out starts_unique boolean, out suspects boolean, out is_last boolean, out left_out boolean, out last bigint
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_depth integer := least(p_size, greatest(16, 2 * p_size / greatest(cardinality(p_commands), 1)));
    v_groups integer[];
    v_keys text[];
    v_command_ids integer[];
    v_most integer[];
    v_lined record;
begin
    if p_ready_keys is not null then
        select array_agg(r.group_id), array_agg(r.key), array_agg(c.id), array_agg(least(r.room + p_slack, v_depth))
        into v_groups, v_keys, v_command_ids, v_most
        from (
            select array_agg(k.group_id) as groups, array_agg(k.key) as keys, jsonb_agg(k.commands) as commands
            from (
                select m.group_id, m.key, array_agg(m.command_id) as commands
                from unnest(p_ready_groups, p_ready_keys, p_ready_commands) as m(group_id, key, command_id)
                group by m.group_id, m.key
            ) k
        ) k
        cross join lateral kinfolk.key_rooms(k.groups, k.keys, p_now) r
        cross join lateral (
            select c.id::integer as id
            from jsonb_array_elements_text(k.commands -> (r.nth - 1)::integer) as c(id)
        ) c
        where r.room > 0;
    end if;

    with stream as materialized (
        select row_number() over () as nth, s.*
        from (
            select k.kind, null::integer as group_id, null::text as key, c.id as command_id, l.lane, v_depth as most,
                case when (g.priority, g.position, g.id) > (p_priority, p_position, p_id) then g.priority else p_priority end as priority,
                case when (g.priority, g.position, g.id) > (p_priority, p_position, p_id) then g.position else p_position end as position,
                case when (g.priority, g.position, g.id) > (p_priority, p_position, p_id) then g.id else p_id end as id
            from unnest(p_lanes) as l(lane)
            cross join lateral kinfolk.begin_at(p_commands, l.lane, p_low_priority, p_low_position, p_low_id) g
            join kinfolk.command c on c.name = g.name
            cross join (values ('open'), ('suspect')) as k(kind)
            where k.kind = 'open' or p_suspects
            union all
            select 'waiter', m.group_id, m.key, m.command_id, l.lane, m.most, p_priority, p_position, p_id
            from unnest(v_groups, v_keys, v_command_ids, v_most) as m(group_id, key, command_id, most)
            cross join unnest(p_lanes) as l(lane)
        ) s
        where case s.lane when 'top' then p_top_room > 0 when 'child' then p_child_room > 0 else true end
    ),
    head as materialized (
        select s.nth, s.most, false as is_soft, t.id, t.priority, t.position
        from stream s
        cross join lateral (
            select t.id, t.priority, t.position
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = s.lane
                and t.command_id = s.command_id
                and t.state = 'pending'
                and t.gate = 'open'
                and not t.suspect
                and (t.priority, t.position, t.id) > (s.priority, s.position, s.id)
            order by t.priority, t.position, t.id
            limit s.most
        ) t
        where s.kind = 'open'
        union all
        select s.nth, s.most, false, t.id, t.priority, t.position
        from stream s
        cross join lateral (
            select t.id, t.priority, t.position
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = s.lane
                and t.command_id = s.command_id
                and t.state = 'pending'
                and t.gate = 'open'
                and t.suspect
                and (t.priority, t.position, t.id) > (p_priority, p_position, p_id)
            order by t.priority, t.position, t.id
            limit s.most
        ) t
        where s.kind = 'suspect'
        union all
        select s.nth, s.most, s.most < v_depth, t.id, t.priority, t.position
        from stream s
        cross join lateral (
            select t.id, t.priority, t.position
            from kinfolk.task t
            where t.blocked_group = s.group_id
                and t.blocked_key = s.key
                and t.queue_id = p_queue
                and t.command_id = s.command_id
                and t.lane = s.lane
                and t.gate = 'limit'
                and (t.priority, t.position, t.id) > (s.priority, s.position, s.id)
            order by t.priority, t.position, t.id
            limit s.most
        ) t
        where s.kind = 'waiter'
        union all
        -- Others may stand before it in the line that it waits in, and are not for the room that is kept.
        select -r.task_id, 0, false, t.id, t.priority, t.position
        from (select distinct r.task_id from kinfolk.reserved r where p_reserved and r.group_id = any (p_groups)) r
        cross join lateral (
            select t.id, t.priority, t.position, t.queue_id, t.lane, t.command_id, t.gate
            from kinfolk.task t
            where t.id = r.task_id
            offset 0
        ) t
        join kinfolk.command c on c.id = t.command_id
        where t.queue_id = p_queue
            and t.gate = 'limit'
            and t.lane = any (p_lanes)
            and c.name = any (p_commands)
            and (t.priority, t.position, t.id) > (p_priority, p_position, p_id)
    ),
    lined_up as (
        select h.*, dense_rank() over (order by h.priority, h.position, h.id)::integer as pos
        from head h
    ),
    -- Each with the last row read of its line, and whether there may be more. No join: there may be thousands of lines.
    ended as materialized (
        select l.*, max(l.pos) over line as last, count(*) over line = l.most as is_full
        from lined_up l
        window line as (partition by l.nth)
    ),
    chosen as materialized (
        select e.id, e.pos, min(e.last) filter (where e.is_soft and e.is_full) as edge
        from ended e
        where e.pos <= least(p_size, (select min(o.last) from ended o where o.is_full and not o.is_soft))
        group by e.id, e.pos
    ),
    locked as materialized (
        select c.id as chosen, c.pos, c.edge, t.id, t.command_id, t.keys, t.suspect, t.starts_unique
        from chosen c
        left join lateral (
            select t.id, t.command_id, t.keys, t.suspect, t.unique_held and t.runs = 0 as starts_unique
            from kinfolk.task t
            where t.id = c.id
                and t.state::text = 'pending'
                and t.gate::text in ('open', 'limit')
            for update skip locked
        ) t on true
    )
    select array_agg(k.id order by k.pos) filter (where k.id is not null) as ids,
        array_agg(k.command_id order by k.pos) filter (where k.id is not null) as commands,
        array_agg(k.keys order by k.pos) filter (where k.id is not null) as keys,
        array_agg(k.pos order by k.pos) filter (where k.id is not null) as ranks,
        array_agg(coalesce(k.edge, 2147483647) order by k.pos) filter (where k.id is not null) as edges,
        bool_or(k.starts_unique) as starts_unique, bool_or(k.suspect) as suspects, bool_or(k.id is null) as left_out, count(*) as chosen,
        (select max(e.pos) from ended e) as read, (select bool_or(e.is_full) from ended e) as is_full,
        least(max(k.pos), min(k.edge)) as reached, array_agg(k.chosen order by k.pos) as candidates
    into v_lined
    from locked k;
    ids := v_lined.ids;
    commands := v_lined.commands;
    keys := v_lined.keys;
    ranks := v_lined.ranks;
    edges := v_lined.edges;
    starts_unique := coalesce(v_lined.starts_unique, false);
    suspects := coalesce(v_lined.suspects, false);
    left_out := coalesce(v_lined.left_out, false);
    -- Positions are counted from the first candidate on, without gaps.
    last := v_lined.candidates[v_lined.reached];
    is_last := not coalesce(v_lined.is_full, false) and v_lined.chosen >= coalesce(v_lined.read, 0);
end
$$;
