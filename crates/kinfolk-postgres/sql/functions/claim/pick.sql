-- Locks the tasks that a claim is to take, and says whether any of them starts under a unique key, which of them stood in
-- the lane `top`, and whether more would have been taken if there were more behind the marks.
--
-- `p_lanes`: the lanes to look at, each with the room it has in `p_rooms`; the others are not read at all. A group is one
-- command in one lane. If one group has open tasks, its head is read and locked. If several have, their heads are merged: first,
-- unlocked, how many each of them has among the foremost for which there is room; then that many are locked of each. A
-- group that gave fewer than that has no more to give (the others are locked by other claims); the rest is made up from
-- the other groups.
--
-- `p_low_*`: for each command in the lane `top`, then for each in the lane `child`, the position behind which to look.
-- The lane `root` is always read from its head: it is short, and what comes back to it stands before all marks.

create or replace function kinfolk.pick(
    p_queue integer, p_commands text[], p_limit integer, p_lanes kinfolk.lane[], p_rooms integer[],
    p_low_priority integer[], p_low_place timestamptz[], p_low_id bigint[],
    out ids bigint[], out tops bigint[], out keyed boolean, out short boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_commands integer[];
    v_lanes kinfolk.lane[];
    v_quotas integer[];
    v_low_priority integer[];
    v_low_place timestamptz[];
    v_low_id bigint[];
    v_left integer := p_limit;
    v_top_room integer := coalesce(p_rooms[array_position(p_lanes, 'top')], 0);
    v_child_room integer := coalesce(p_rooms[array_position(p_lanes, 'child')], 0);
    v_depth integer;
    v_is_last boolean;
    v_pass record;
begin
    ids := '{}';
    tops := '{}';
    keyed := false;
    short := false;
    if cardinality(p_lanes) * cardinality(p_commands) = 1 then
        select array[c.id], p_lanes, array[coalesce(g.priority, -2147483648)], array[coalesce(g.place, '-infinity')],
            array[coalesce(g.id, 0)]
        into v_commands, v_lanes, v_low_priority, v_low_place, v_low_id
        from kinfolk.begin_at(p_commands, p_lanes[1], p_low_priority, p_low_place, p_low_id) g
        join kinfolk.command c on c.name = g.name;
    else
        -- Only the groups that have open tasks: if there is but one, there is nothing to merge.
        select array_agg(g.command_id), array_agg(g.lane), array_agg(g.priority), array_agg(g.place), array_agg(g.id)
        into v_commands, v_lanes, v_low_priority, v_low_place, v_low_id
        from (
            select c.id as command_id, l.lane, coalesce(g.priority, -2147483648) as priority,
                coalesce(g.place, '-infinity') as place, coalesce(g.id, 0) as id
            from unnest(p_lanes) as l(lane)
            cross join lateral kinfolk.begin_at(p_commands, l.lane, p_low_priority, p_low_place, p_low_id) g
            join kinfolk.command c on c.name = g.name
            offset 0
        ) g
        -- Not by `exists`, which may be planned as a join that reads whole lanes.
        cross join lateral (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = g.lane
                and t.command_id = g.command_id
                and t.state = 'pending'
                and t.gate = 'open'
                and not t.suspect
                and (t.priority, t.place, t.id) > (g.priority, g.place, g.id)
            order by t.priority, t.place, t.id
            limit 1
        ) h;
    end if;
    v_depth := least(p_limit, greatest(16, 2 * p_limit / greatest(cardinality(v_commands), 1)));

    while v_left > 0 and cardinality(v_commands) > 0 loop
        v_is_last := cardinality(v_commands) = 1;
        if v_is_last then
            v_quotas := array[least(v_left, case v_lanes[1] when 'top' then v_top_room when 'child' then v_child_room end)];
        else
            with heads as materialized (
                select g.nth, g.lane, h.priority, h.place, h.id, h.rank = v_depth and r.room > v_depth as is_edge
                from unnest(v_commands, v_lanes, v_low_priority, v_low_place, v_low_id)
                    with ordinality as g(command_id, lane, priority, place, id, nth)
                cross join lateral (
                    select case g.lane when 'top' then v_top_room when 'child' then v_child_room else v_left end as room
                ) r
                cross join lateral (
                    select t.priority, t.place, t.id, row_number() over (order by t.priority, t.place, t.id) as rank
                    from kinfolk.task t
                    where t.queue_id = p_queue
                        and t.lane = g.lane
                        and t.command_id = g.command_id
                        and t.state = 'pending'
                        and t.gate = 'open'
                        and not t.suspect
                        and (t.priority, t.place, t.id) > (g.priority, g.place, g.id)
                    order by t.priority, t.place, t.id
                    limit least(v_depth, r.room)
                ) h
            ),
            lined_up as (
                select h.nth, h.is_edge, h.lane, row_number() over line as rank,
                    count(*) filter (where h.lane = 'top') over line - v_top_room as tops_over,
                    count(*) filter (where h.lane = 'child') over line - v_child_room as children_over
                from heads h
                window line as (order by h.priority, h.place, h.id)
            ),
            -- Those for which there is no room are left out, and the others close up.
            merged as (
                select l.nth, l.is_edge, l.rank - greatest(l.tops_over, 0) - greatest(l.children_over, 0) as rank
                from lined_up l
                where case l.lane when 'top' then l.tops_over <= 0 when 'child' then l.children_over <= 0 else true end
            ),
            -- What stands behind the last row read of a group is not known: the merge is sound up to there.
            foremost as (
                select m.nth, count(*)::integer as many
                from merged m
                where m.rank <= least(v_left, (select min(e.rank) from merged e where e.is_edge))
                group by m.nth
            )
            select array_agg(coalesce(f.many, 0) order by g.nth), array_agg(g.command_id order by g.nth),
                array_agg(g.lane order by g.nth), array_agg(g.priority order by g.nth),
                array_agg(g.place order by g.nth), array_agg(g.id order by g.nth)
            into v_quotas, v_commands, v_lanes, v_low_priority, v_low_place, v_low_id
            from unnest(v_commands, v_lanes, v_low_priority, v_low_place, v_low_id)
                with ordinality as g(command_id, lane, priority, place, id, nth)
            join (select h.nth from heads h group by h.nth) alive on alive.nth = g.nth
            left join foremost f on f.nth = g.nth;
            exit when v_commands is null;
        end if;

        with picked as materialized (
            select g.nth, g.lane, p.id, p.starts_keyed
            from unnest(v_commands, v_lanes, v_quotas, v_low_priority, v_low_place, v_low_id)
                with ordinality as g(command_id, lane, quota, priority, place, id, nth)
            cross join lateral (
                select t.id, t.unique_held and t.runs = 0 as starts_keyed
                from kinfolk.task t
                where t.queue_id = p_queue
                    and t.lane = g.lane
                    and t.command_id = g.command_id
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and not t.suspect
                    and (t.priority, t.place, t.id) > (g.priority, g.place, g.id)
                order by t.priority, t.place, t.id
                limit g.quota
                for update skip locked
            ) p
        )
        select array_agg(p.id) as ids, count(*)::integer as many, bool_or(p.starts_keyed) as starts_keyed,
            coalesce(array_agg(p.id) filter (where p.lane = 'top'), '{}') as tops,
            count(*) filter (where p.lane = 'child')::integer as children
        into v_pass
        from picked p;

        if v_pass.many > 0 then
            ids := ids || v_pass.ids;
            tops := tops || v_pass.tops;
            keyed := keyed or v_pass.starts_keyed;
            v_left := v_left - v_pass.many;
            v_top_room := v_top_room - cardinality(v_pass.tops);
            v_child_room := v_child_room - v_pass.children;
        end if;
        exit when v_left <= 0 or v_is_last;

        -- Go on behind what was taken, with the groups that gave all they were asked for and have room.
        with last as (
            select distinct on (t.command_id, t.lane) t.command_id, t.lane, t.priority, t.place, t.id,
                count(*) over (partition by t.command_id, t.lane) as many
            from unnest(v_pass.ids) as p(id)
            join kinfolk.task t on t.id = p.id
            order by t.command_id, t.lane, t.priority desc, t.place desc, t.id desc
        )
        select array_agg(g.command_id), array_agg(g.lane), array_agg(coalesce(l.priority, g.priority)),
            array_agg(coalesce(l.place, g.place)), array_agg(coalesce(l.id, g.id))
        into v_commands, v_lanes, v_low_priority, v_low_place, v_low_id
        from unnest(v_commands, v_lanes, v_quotas, v_low_priority, v_low_place, v_low_id)
            as g(command_id, lane, quota, priority, place, id)
        left join last l on l.command_id = g.command_id and l.lane = g.lane
        where coalesce(l.many, 0) >= g.quota
            and case g.lane when 'top' then v_top_room > 0 when 'child' then v_child_room > 0 else true end;
        v_depth := least(v_depth * 2, p_limit);
    end loop;
    if v_left > 0 and p_low_id <> '{}' then
        -- A lane that is full has nothing to give before its marks either.
        short := (v_top_room > 0 and exists (select from unnest(p_low_id[:cardinality(p_commands)]) i where i is not null))
            or (v_child_room > 0
                and exists (select from unnest(p_low_id[cardinality(p_commands) + 1:]) i where i is not null));
    end if;
end
$$;
