-- Decides over candidates of a claim, which the caller has locked, in the order given: those whose keys all have room
-- take a slot of each, and a start where there is a rate; the others are parked behind the first key that has no room,
-- by the number of its group. This is `kinfolk_core::admit::admit`. Where every key has room for all that ask for it,
-- one statement does it all; else the rooms of the other keys are counted down, one candidate after another.
--
-- `p_places`, `p_edges`: from `line_up`; a candidate that does not take what its line was read for ends the page at its edge.
-- `p_most`: how many may start; the page ends with the last of them. `p_one_by_one`: rooms of lanes, or the rule for suspects, may
-- keep a candidate back. `last`: the last one that was decided over; `is_whole`: it is the last of all. `behind_*`: the keys behind
-- which some were parked; `bounced`: those that have been sent from key to key for long.
--
-- The caller has the admission locks. Reads and writes the pages of `slot`.

create or replace function kinfolk.admit_page(
    p_ids bigint[], p_commands integer[], p_keys jsonb[], p_places integer[], p_edges integer[], p_top_room integer,
    p_child_room integer, p_may_suspect boolean, p_most integer, p_one_by_one boolean, p_now timestamptz,
    out taken bigint[], out tops bigint[], out children integer, out suspect boolean, out behind_groups integer[],
    out behind_keys text[], out bounced bigint[], out last bigint, out is_whole boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_need record;
    v_overfull bigint[];
    v_rooms record;
begin
    with declared as materialized (
        select d.* from kinfolk.declarations(p_commands) d
    ),
    need as materialized (
        select g.nth, g.id, d.group_id, coalesce(g.keys ->> d.name, '') as key, d.is_plain,
            not (d.hold and kinfolk.holds_slot(g.id, d.group_id, coalesce(g.keys ->> d.name, ''))) as takes
        from unnest(p_ids, p_commands, p_keys) with ordinality as g(id, command_id, keys, nth)
        join declared d on d.command_id = g.command_id
        where d.name = 'total'
            or g.keys ? d.name
    )
    select array_agg(n.nth::integer) as candidates, array_agg(n.id) as tasks, array_agg(n.group_id) as groups,
        array_agg(n.key) as keys, array_agg(n.takes) as takes, bool_and(n.is_plain) as all_plain
    into v_need
    from need n;
    -- Not before the candidates are locked: how they ran before is over, and so is noted by now.
    perform kinfolk.mark_keys(0, array(select distinct g from unnest(v_need.groups) g), p_now);

    taken := p_ids;
    tops := '{}';
    children := 0;
    suspect := false;
    behind_groups := '{}';
    behind_keys := '{}';
    bounced := '{}';
    last := p_ids[cardinality(p_ids)];
    is_whole := true;
    p_one_by_one := p_one_by_one or cardinality(p_ids) > p_most;
    if not p_one_by_one then
        if v_need.groups is null then
            return;
        elsif v_need.all_plain then
            v_overfull := (select s.overfull from kinfolk.take_slots(v_need.groups, v_need.keys, v_need.tasks, true) s);
            if v_overfull = '{}' then
                return;
            end if;
        end if;
    end if;

    with asked as (
        select n.group_id, n.key, count(*) as many, count(*) filter (where n.takes) as takers
        from unnest(v_need.groups, v_need.keys, v_need.takes) as n(group_id, key, takes)
        where v_overfull is null
            or kinfolk.key_number(n.group_id, n.key) = any (v_overfull)
        group by n.group_id, n.key
    ),
    listed as materialized (
        select array_agg(a.group_id) as groups, array_agg(a.key) as keys, array_agg(a.many) as many,
            array_agg(a.takers) as takers
        from asked a
    ),
    room as materialized (
        select r.group_id, r.key, r.free, r.starts, case when r.keeps then r.kept_for end as kept_for,
            r.interval_us is not null as is_rated,
            coalesce(r.free < l.takers[r.nth], false) or coalesce(r.starts < l.many[r.nth], false)
                or r.kept_for is not null or (p_edges is not null and l.takers[r.nth] < l.many[r.nth]) as is_contested
        from listed l
        cross join lateral kinfolk.key_rooms(l.groups, l.keys, p_now) r
    )
    select coalesce(bool_or(r.is_rated), false) as is_rated, array_agg(r.group_id) filter (where p_one_by_one or r.is_contested) as groups,
        array_agg(r.key) filter (where p_one_by_one or r.is_contested) as keys,
        array_agg(coalesce(r.free, 2147483647)) filter (where p_one_by_one or r.is_contested) as free,
        array_agg(coalesce(r.starts, 2147483647)) filter (where p_one_by_one or r.is_contested) as starts,
        array_agg(coalesce(r.kept_for, 0)) filter (where p_one_by_one or r.is_contested) as kept
    into v_rooms
    from room r;

    if p_one_by_one or v_rooms.groups is not null then
        select o.*
        into taken, tops, children, suspect, behind_groups, behind_keys, bounced, last, is_whole
        from kinfolk.admit_one_by_one(p_ids, coalesce(p_places, array(select generate_series(1, cardinality(p_ids)))),
            p_edges, p_top_room, p_child_room, p_may_suspect, p_most, p_one_by_one, v_rooms.groups, v_rooms.keys,
            v_rooms.free, v_rooms.starts, v_rooms.kept, v_need.candidates, v_need.groups, v_need.keys, v_need.takes, v_rooms.is_rated,
            p_now) o;
        return;
    end if;
    perform kinfolk.take_slots(array_agg(n.group_id), array_agg(n.key), array_agg(n.task_id), false)
    from unnest(v_need.groups, v_need.keys, v_need.tasks, v_need.takes) as n(group_id, key, task_id, takes)
    where n.takes;
    if v_rooms.is_rated then
        perform kinfolk.spend_starts(v_need.groups, v_need.keys, p_now);
    end if;
end
$$;

-- The part of `admit_page` that goes candidate by candidate: over all of them (`p_all`), or those that need one of the rooms given,
-- while the others start. `p_groups` to `p_kept`: rooms by key; `p_candidates` to `p_takes`: what the candidates need.
-- `tops`, `children` and those of `p_most` are counted only over all of them.
create or replace function kinfolk.admit_one_by_one(
    p_ids bigint[], p_places integer[], p_edges integer[], p_top_room integer, p_child_room integer,
    p_may_suspect boolean, p_most integer, p_all boolean, p_groups integer[], p_keys text[], p_free bigint[],
    p_starts bigint[], p_kept bigint[],
    p_candidates integer[], p_need_groups integer[], p_need_keys text[], p_takes boolean[], p_is_rated boolean,
    p_now timestamptz,
    out taken bigint[], out tops bigint[], out children integer, out suspect boolean, out behind_groups integer[],
    out behind_keys text[], out bounced bigint[], out last bigint, out is_whole boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_most smallint := kinfolk.bounces_max();
    v_these integer[];
    v_need record;
    v_lanes kinfolk.lane[];
    v_suspects boolean[];
    v_bounces smallint[];
    v_groups integer[];
    v_keys text[];
    v_cut integer := 2147483647;
    v_many integer := 0;
    v_nth integer;
    v_task bigint;
    v_from integer;
    v_at integer := 1;
    v_room integer;
    v_kept integer;
    v_blocked integer;
    v_is_taken boolean[] := array_fill(not p_all, array[cardinality(p_ids)]);
    v_parked bigint[] := '{}';
    v_behind integer[] := '{}';
    v_parked_behind integer[] := '{}';
begin
    tops := '{}';
    children := 0;
    suspect := false;
    bounced := '{}';
    select n.candidates, n.rooms, n.takes
    into v_need
    from kinfolk.needs_of(p_candidates, p_need_groups, p_need_keys, p_takes, p_groups, p_keys) n;
    v_these := case when p_all then array(select generate_series(1, cardinality(p_ids)))
        else array(select distinct c from unnest(v_need.candidates) c order by c) end;
    select array_agg(t.lane order by g.nth), array_agg(t.suspect order by g.nth), array_agg(t.bounces order by g.nth),
        array_agg(coalesce(t.parked_group, 0) order by g.nth), array_agg(coalesce(t.parked_key, '') order by g.nth)
    into v_lanes, v_suspects, v_bounces, v_groups, v_keys
    from unnest(v_these) with ordinality as g(candidate, nth)
    cross join lateral (
        select t.lane, t.suspect, t.bounces, t.parked_group, t.parked_key
        from kinfolk.task t
        where t.id = p_ids[g.candidate]
        offset 0
    ) t;
    -- So that their elements are found at once: texts in an array are counted off from its first one, unless it was written to.
    p_keys[1] := p_keys[1];
    v_keys[1] := v_keys[1];
    for i in 1..cardinality(v_these) loop
        v_nth := v_these[i];
        exit when p_places[v_nth] > v_cut;
        v_task := p_ids[v_nth];
        v_is_taken[v_nth] := false;
        v_from := v_at;
        v_blocked := 0;
        while v_need.candidates[v_at] = v_nth loop
            if v_blocked = 0 then
                v_room := v_need.rooms[v_at];
                v_kept := case when p_kept[v_room] in (0, v_task) then 0 else 1 end;
                if (v_need.takes[v_at] and p_free[v_room] <= v_kept) or p_starts[v_room] <= v_kept then
                    v_blocked := v_room;
                end if;
            end if;
            v_at := v_at + 1;
        end loop;
        if v_suspects[i] and not p_may_suspect then
            v_cut := least(v_cut, p_edges[v_nth]);
            continue;
        elsif (v_lanes[i] = 'top' and p_top_room <= 0) or (v_lanes[i] = 'child' and p_child_room <= 0) then
            continue;
        elsif v_blocked > 0 then
            v_behind := v_behind || v_blocked;
            -- One that stays where it was has not been sent from one key to the next, and so do all behind it in that line.
            continue when v_groups[i] = p_groups[v_blocked] and v_keys[i] = p_keys[v_blocked];
            v_cut := least(v_cut, p_edges[v_nth]);
            v_parked := v_parked || v_task;
            v_parked_behind := v_parked_behind || v_blocked;
            if v_bounces[i] + 1 >= v_most then
                bounced := bounced || v_task;
            end if;
            continue;
        end if;
        for n in v_from..v_at - 1 loop
            v_room := v_need.rooms[n];
            p_starts[v_room] := p_starts[v_room] - 1;
            if v_need.takes[n] then
                p_free[v_room] := p_free[v_room] - 1;
            else
                v_cut := least(v_cut, p_edges[v_nth]);
            end if;
            if p_kept[v_room] = v_task then
                p_kept[v_room] := 0;
            end if;
        end loop;
        v_is_taken[v_nth] := true;
        v_many := v_many + 1;
        if v_many = p_most then
            v_cut := least(v_cut, p_places[v_nth]);
        end if;
        if v_lanes[i] = 'top' then
            tops := tops || v_task;
            p_top_room := p_top_room - 1;
        elsif v_lanes[i] = 'child' then
            children := children + 1;
            p_child_room := p_child_room - 1;
        end if;
        if v_suspects[i] then
            suspect := true;
            p_may_suspect := false;
        end if;
    end loop;
    select coalesce(array_agg(c.id order by c.nth) filter (where c.is_taken), '{}'), (array_agg(c.id order by c.nth desc))[1]
    into taken, last
    from unnest(p_ids, p_places, v_is_taken) with ordinality as c(id, place, is_taken, nth)
    where c.place <= v_cut;
    is_whole := last = p_ids[cardinality(p_ids)];

    perform kinfolk.take_slots(array_agg(n.group_id), array_agg(n.key), array_agg(p_ids[n.candidate]), false)
    from unnest(p_candidates, p_need_groups, p_need_keys, p_takes) as n(candidate, group_id, key, takes)
    where n.takes
        and v_is_taken[n.candidate]
        and p_places[n.candidate] <= v_cut;
    if p_is_rated then
        perform kinfolk.spend_starts(array_agg(n.group_id), array_agg(n.key), p_now)
        from unnest(p_candidates, p_need_groups, p_need_keys) as n(candidate, group_id, key)
        where v_is_taken[n.candidate]
            and p_places[n.candidate] <= v_cut;
    end if;
    select coalesce(array_agg(p_groups[b]), '{}'), coalesce(array_agg(p_keys[b]), '{}')
    into behind_groups, behind_keys
    from unnest(v_behind) b;
    if cardinality(v_parked) > 0 then
        update kinfolk.task t
        set
            gate = 'limit',
            parked_group = p_groups[g.room],
            parked_key = p_keys[g.room],
            bounces = least(t.bounces + 1, 32767)
        from unnest(v_parked, v_parked_behind) as g(id, room)
        where t.id = g.id;
    end if;
    -- point: claim.parked
    delete from kinfolk.reserved r
    where r.task_id = any (taken);
end
$$;

-- Which of the rooms given candidates need, in their order and that of groups. By one pass over all needs: there may be thousands.
create or replace function kinfolk.needs_of(
    p_candidates integer[], p_need_groups integer[], p_need_keys text[], p_takes boolean[], p_groups integer[], p_keys text[],
    out candidates integer[], out rooms integer[], out takes boolean[]
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set enable_hashjoin = on
set enable_nestloop = off
as $$
begin
    select array_agg(n.candidate order by n.candidate, n.group_id), array_agg(r.room::integer order by n.candidate, n.group_id),
        array_agg(n.takes order by n.candidate, n.group_id)
    into candidates, rooms, takes
    from unnest(p_candidates, p_need_groups, p_need_keys, p_takes) as n(candidate, group_id, key, takes)
    join unnest(p_groups, p_keys) with ordinality as r(group_id, key, room) on r.group_id = n.group_id and r.key = n.key;
end
$$;

-- Keeps room of all its keys for a task from the next claim on, unless one of its groups keeps some for another. One that
-- can't start now makes way, in all its groups: what is in other hands there, they are about to remove.
create or replace function kinfolk.reserve(p_task bigint) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_groups integer[];
    v_keys text[];
    v_others bigint[];
begin
    select array_agg(cg.group_id), array_agg(coalesce(t.keys ->> cg.name, ''))
    into v_groups, v_keys
    from kinfolk.task t
    join kinfolk.command_group cg on cg.command_id = t.command_id
    where t.id = p_task
        and (cg.name = 'total' or t.keys ? cg.name);
    v_others := array(select distinct r.task_id from kinfolk.reserved r where r.group_id = any (v_groups));
    if exists (select from unnest(v_others) o where o = p_task or kinfolk.keeps_room(o, kinfolk.clock())) then
        return;
    end if;
    with gone as (
        delete from kinfolk.reserved r
        where r.group_id in (
            select o.group_id
            from kinfolk.reserved o
            where o.task_id = any (v_others)
            for update skip locked)
        returning r.group_id, r.key
    )
    insert into kinfolk.freed (group_id, keys, tasks)
    select g.group_id, array[g.key], '{}'
    from gone g;
    insert into kinfolk.reserved (group_id, key, task_id)
    select n.group_id, n.key, p_task
    from unnest(v_groups, v_keys) as n(group_id, key)
    on conflict do nothing;
end
$$;

-- Looks again at keys that were marked on this queue, and at those that some were parked behind, at the end of a claim
-- of these commands that has the admission locks. The mark of a key stays, or is made, where it has room and someone
-- waits; else it goes. Where a rate is in the way, notes when that is over.
create or replace function kinfolk.unmark_keys(
    p_queue integer, p_commands integer[], p_groups integer[], p_keys text[], p_now timestamptz
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    with looked_at as materialized (
        select distinct k.group_id, k.key from unnest(p_groups, p_keys) as k(group_id, key)
    ),
    listed as materialized (
        select array_agg(l.group_id) as groups, array_agg(l.key) as keys from looked_at l
    ),
    room as materialized (
        select r.group_id, r.key, c.id as command_id, r.opens_at,
            r.room > 0 as has_room,
            least(r.starts, 2) <= r.keeps::integer as is_slow
        from listed l
        cross join lateral kinfolk.key_rooms(l.groups, l.keys, p_now) r
        cross join unnest(p_commands) as c(id)
    ),
    awaited as materialized (
        select r.*, w.is_there is not null as has_waiter, m.place
        from room r
        left join lateral (
            select m.ctid as place
            from kinfolk.ready_key m
            where m.queue_id = p_queue
                and m.command_id = r.command_id
                and m.group_id = r.group_id
                and m.key = r.key
            offset 0
        ) m on true
        left join lateral (
            select true as is_there
            from kinfolk.task t
            where t.parked_group = r.group_id
                and t.parked_key = r.key
                and t.queue_id = p_queue
                and t.command_id = r.command_id
                and t.gate = 'limit'
            limit 1
        ) w on true
    ),
    unmarked as (
        delete from kinfolk.ready_key m
        where m.ctid = any (array(select a.place from awaited a where not (a.has_room and a.has_waiter)))
    ),
    marked as (
        insert into kinfolk.ready_key (queue_id, command_id, group_id, key)
        select p_queue, a.command_id, a.group_id, a.key
        from awaited a
        where a.has_room
            and a.has_waiter
            and a.place is null
        on conflict do nothing
    )
    insert into kinfolk.spent (group_id, key, wakes_at)
    select distinct on (a.group_id, a.key) a.group_id, a.key, a.opens_at
    from awaited a
    where a.is_slow
        and a.has_waiter
        and a.opens_at is not null
    on conflict (group_id, key) do update set wakes_at = excluded.wakes_at;
end
$$;
