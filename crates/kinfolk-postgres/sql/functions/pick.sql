-- Locks the tasks that a claim is to take, and says whether any of them starts under a unique key.
--
-- With one command, its head is read and locked. With several, their heads are merged: first, unlocked, how many each
-- of them has among the foremost; then that many are locked of each. A command that gave fewer than that has no more
-- to give (the others are locked by other claims); the rest is made up from the other commands.

create or replace function kinfolk.pick(
    p_worker uuid, p_queue integer, p_commands text[], p_limit integer,
    p_low_priority integer[], p_low_place timestamptz[], p_low_id bigint[],
    out ids bigint[], out keyed boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_lanes kinfolk.lane[] := '{top}';
    v_commands integer[];
    v_command_lanes kinfolk.lane[];
    v_quotas integer[];
    v_low_priority integer[];
    v_low_place timestamptz[];
    v_low_id bigint[];
    v_left integer := p_limit;
    v_depth integer;
    v_is_last boolean;
    v_suspect bigint;
    v_pass record;
begin
    ids := '{}';
    keyed := false;
    -- Most queues have one lane only, which is then read without a merge.
    v_lanes := v_lanes || array(
        select l.lane
        from unnest('{child,root}'::kinfolk.lane[]) as l(lane)
        where exists (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = l.lane
                and t.state = 'pending'
                and t.gate = 'open'
                and not t.suspect));
    -- Children stand where their root stood: before the marks, which are of roots.
    select array_agg(c.id), array_agg(l.lane),
        array_agg(case when l.lane = 'top' then coalesce(g.priority, -2147483648) else -2147483648 end),
        array_agg(case when l.lane = 'top' then coalesce(g.place, '-infinity') else '-infinity' end),
        array_agg(case when l.lane = 'top' then coalesce(g.id, 0) else 0 end)
    into v_commands, v_command_lanes, v_low_priority, v_low_place, v_low_id
    from unnest(p_commands, p_low_priority, p_low_place, p_low_id) as g(name, priority, place, id)
    join kinfolk.command c on c.name = g.name
    cross join unnest(v_lanes) as l(lane);
    v_depth := least(p_limit, greatest(16, 2 * p_limit / greatest(cardinality(v_commands), 1)));

    while v_left > 0 and cardinality(v_commands) > 0 loop
        v_is_last := cardinality(v_commands) = 1;
        if v_is_last then
            v_quotas := array[v_left];
        else
            with heads as materialized (
                select g.nth, h.priority, h.place, h.id, h.rank = v_depth as is_edge
                from unnest(v_commands, v_command_lanes, v_low_priority, v_low_place, v_low_id)
                    with ordinality as g(command_id, lane, priority, place, id, nth)
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
                    limit v_depth
                ) h
            ),
            merged as (
                select h.nth, h.is_edge, row_number() over (order by h.priority, h.place, h.id) as rank
                from heads h
            ),
            -- What stands behind the last row read of a command is not known: the merge is sound up to there.
            foremost as (
                select m.nth, count(*)::integer as many
                from merged m
                where m.rank <= least(v_left, (select min(e.rank) from merged e where e.is_edge))
                group by m.nth
            )
            select array_agg(coalesce(f.many, 0) order by g.nth), array_agg(g.command_id order by g.nth),
                array_agg(g.lane order by g.nth), array_agg(g.priority order by g.nth), array_agg(g.place order by g.nth), array_agg(g.id order by g.nth)
            into v_quotas, v_commands, v_command_lanes, v_low_priority, v_low_place, v_low_id
            from unnest(v_commands, v_command_lanes, v_low_priority, v_low_place, v_low_id)
                with ordinality as g(command_id, lane, priority, place, id, nth)
            join (select h.nth from heads h group by h.nth) alive on alive.nth = g.nth
            left join foremost f on f.nth = g.nth;
            exit when v_commands is null;
        end if;

        with picked as materialized (
            select g.nth, p.id, p.priority, p.place, p.starts_keyed
            from unnest(v_commands, v_command_lanes, v_quotas, v_low_priority, v_low_place, v_low_id)
                with ordinality as g(command_id, lane, quota, priority, place, id, nth)
            cross join lateral (
                select t.id, t.priority, t.place, t.unique_held and t.runs = 0 as starts_keyed
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
        select array_agg(p.id) as ids, count(*)::integer as many, bool_or(p.starts_keyed) as starts_keyed
        into v_pass
        from picked p;

        if v_pass.many > 0 then
            ids := ids || v_pass.ids;
            keyed := keyed or v_pass.starts_keyed;
            v_left := v_left - v_pass.many;
        end if;
        exit when v_left <= 0 or v_is_last;

        -- Go on behind what was taken, with the commands that gave all they were asked for.
        with last as (
            select distinct on (t.command_id, t.lane) t.command_id, t.lane, t.priority, t.place, t.id,
                count(*) over (partition by t.command_id, t.lane) as many
            from unnest(v_pass.ids) as p(id)
            join kinfolk.task t on t.id = p.id
            order by t.command_id, t.lane, t.priority desc, t.place desc, t.id desc
        )
        select array_agg(g.command_id), array_agg(g.lane), array_agg(coalesce(l.priority, g.priority)),
            array_agg(coalesce(l.place, g.place)), array_agg(coalesce(l.id, g.id))
        into v_commands, v_command_lanes, v_low_priority, v_low_place, v_low_id
        from unnest(v_commands, v_command_lanes, v_quotas, v_low_priority, v_low_place, v_low_id)
            as g(command_id, lane, quota, priority, place, id)
        left join last l on l.command_id = g.command_id and l.lane = g.lane
        where coalesce(l.many, 0) >= g.quota;
        v_depth := least(v_depth * 2, p_limit);
    end loop;

    if exists (
        select
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.state = 'pending'
            and t.gate = 'open'
            and t.suspect)
    then
        v_suspect := kinfolk.pick_suspect(p_worker, p_queue, p_commands, ids, p_limit);
        if v_suspect is not null then
            select array_agg(t.id), bool_or(t.unique_held and t.runs = 0)
            into ids, keyed
            from (
                select t.id, t.unique_held, t.runs
                from kinfolk.task t
                where t.id = any (ids || v_suspect)
                order by t.priority, t.place, t.id
                limit p_limit
            ) t;
        end if;
    end if;
end
$$;
