-- What a claim of commands that have groups does before any row: it finds out whether it has to ask their groups at all, and takes
-- their admission locks.

-- Takes the admission locks of all groups of the commands of a claim, before any row. Where they are not free at once, the
-- claim goes on with those of its commands that have no groups, if one of them has an open task; else it waits, but not for long.
-- Answers the commands to go on with; the groups, null where there are none; whether some commands were left out;
-- which of the commands have groups, which have a total, and whether a group holds slots for families.
create or replace function kinfolk.lock_admission(
    p_queue integer, p_commands text[],
    out commands text[], out groups integer[], out busy boolean, out grouped integer[], out total integer[], out holds boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_plain text[];
    v_had integer[];
begin
    commands := p_commands;
    busy := false;
    select d.groups, d.grouped, d.total, d.holds into groups, grouped, total, holds from kinfolk.declared_by(p_commands) d;
    if groups is null or kinfolk.try_lock_groups(groups) then
        v_had := groups;
    else
        v_plain := kinfolk.without_groups(p_commands);
        if not kinfolk.has_open(p_queue, v_plain) and kinfolk.wait_for_groups(groups) then
            v_had := groups;
        end if;
    end if;
    if v_had is not null then
        -- They may have been declared otherwise before the locks were had.
        select d.groups, d.grouped, d.total, d.holds into groups, grouped, total, holds from kinfolk.declared_by(p_commands) d;
    end if;
    if v_had is distinct from groups then
        commands := kinfolk.without_groups(p_commands);
        groups := null;
        busy := true;
    end if;
end
$$;

-- The groups that these commands declare, null where there are none; those of the commands that have groups, and those that have
-- a total.
create or replace function kinfolk.declared_by(
    p_commands text[], out groups integer[], out grouped integer[], out total integer[], out holds boolean
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    select array_agg(distinct cg.group_id), coalesce(array_agg(distinct c.id), '{}'),
        coalesce(array_agg(c.id) filter (where cg.name = 'total'), '{}'), bool_or(cg.hold)
    into groups, grouped, total, holds
    from kinfolk.command c
    cross join lateral (
        select cg.group_id, cg.name, g.hold
        from kinfolk.command_group cg
        join kinfolk.slot_group g on g.id = cg.group_id
        where cg.command_id = c.id
        offset 0
    ) cg
    where c.name = any (p_commands)
        and c.grouped;
end
$$;

-- Whether one of these commands has an open task on a queue. Reads the heads of their lines.
create or replace function kinfolk.has_open(p_queue integer, p_commands text[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
        select
        from kinfolk.command c
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        cross join lateral (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = l.lane
                and t.command_id = c.id
                and t.state = 'pending'
                and t.gate = 'open'
                and not t.suspect
            limit 1
        ) t
        where c.name = any (p_commands));
end
$$;

-- Whether a claim of these commands on a queue may find something to do that groups have to be asked about: an open task of a
-- command that has some, or one that may become open by this claim, or room for one that waits behind a key.
create or replace function kinfolk.has_keyed_work(p_queue integer, p_commands text[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_now timestamptz := kinfolk.clock();
    v_grouped text[] := array(select c.name from kinfolk.command c where c.name = any (p_commands) and c.grouped);
    v_groups integer[];
begin
    if cardinality(v_grouped) = cardinality(p_commands) or kinfolk.has_open(p_queue, v_grouped) then
        return true;
    end if;
    v_groups := (select d.groups from kinfolk.declared_by(v_grouped) d);
    return exists (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.gate = 'time'
                and t.due <= v_now)
        or exists (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.state = 'pending'
                and t.gate = 'open'
                and t.suspect)
        or exists (select from kinfolk.late l where l.queue_id = p_queue)
        or exists (select from kinfolk.follow_up f where f.queue_id = p_queue and f.ended is not null)
        or exists (select from kinfolk.ready_key m where m.queue_id = p_queue)
        or exists (select from kinfolk.reserved r where r.group_id = any (v_groups))
        or exists (select from kinfolk.spent s where s.group_id = any (v_groups) and s.wakes_at <= v_now)
        or exists (select from kinfolk.freed f where f.group_id = any (v_groups)) and kinfolk.awaited_groups(v_groups) <> '{}';
end
$$;

-- Those of the commands that have no groups.
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

-- The marks of a claim, which stand for its commands in the lane `top`, then in the lane `child`, for some of these commands only.
create or replace function kinfolk.marks_for(
    p_some text[], p_commands text[], p_low_priority integer[], p_low_place timestamptz[], p_low_id bigint[],
    out low_priority integer[], out low_place timestamptz[], out low_id bigint[]
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    select coalesce(array_agg(p_low_priority[m.nth] order by m.lane, s.nth), '{}'),
        coalesce(array_agg(p_low_place[m.nth] order by m.lane, s.nth), '{}'),
        coalesce(array_agg(p_low_id[m.nth] order by m.lane, s.nth), '{}')
    into low_priority, low_place, low_id
    from unnest(p_some) with ordinality as s(name, nth)
    cross join lateral (
        select l.lane, array_position(p_commands, s.name) + l.lane * cardinality(p_commands) as nth
        from generate_series(0, 1) as l(lane)
    ) m;
end
$$;

-- When the first of the keys behind which tasks of these commands wait on this queue allows a start again, or earlier: of each
-- group only the first keys are looked at, and where all of these hold up others, the claim may as well look again then. Reads
-- `spent_wakes` from its first entry on, and `task_parked`.
create or replace function kinfolk.next_wake(p_queue integer, p_commands text[]) returns timestamptz
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_most constant integer := 100;
begin
    return (
        select min(n.wakes_at)
        from (
            select cg.group_id, array_agg(c.id) as commands
            from kinfolk.command c
            join kinfolk.command_group cg on cg.command_id = c.id
            where c.name = any (p_commands)
                and c.grouped
            group by cg.group_id
        ) g
        cross join lateral (
            select s.wakes_at
            from (
                select s.key, s.wakes_at, row_number() over () as nth
                from (
                    select s.key, s.wakes_at
                    from kinfolk.spent s
                    where s.group_id = g.group_id
                        and s.wakes_at is not null
                    order by s.group_id, s.wakes_at
                    limit v_most
                ) s
            ) s
            where s.nth = v_most
                or exists (
                    select
                    from unnest(g.commands) as c(id)
                    cross join lateral (
                        select
                        from kinfolk.task t
                        where t.parked_group = g.group_id
                            and t.parked_key = s.key
                            and t.queue_id = p_queue
                            and t.command_id = c.id
                            and t.gate = 'limit'
                        -- Said so that no other index on the gate is thought of.
                        order by t.parked_group, t.parked_key, t.queue_id, t.command_id
                        limit 1
                    ) t)
            limit 1
        ) n);
end
$$;
