-- What `pick` and `pick_suspect` do, for a claim with commands that have groups: locks the tasks that the claim is to
-- take, and takes their slots. In the order of the claim each candidate takes a slot of all its keys, or is parked
-- behind the first one that has no room (`kinfolk_core::admit`). Candidates are the open tasks, and what waits behind
-- keys that are marked as ready.
--
-- `more`: this claim has parked so many that it ends here, and there may be more behind them. `left_out`: someone else
-- had in hand what was needed. `p_beside`: there may be open tasks in other lanes than `top`. `short`: there may be
-- more before the marks of the caller (`p_low_*`, as in `pick`).
--
-- The caller has the admission locks of all groups of these commands. Locks tasks, never waiting. Reads `task_ready`,
-- `task_suspect` and `task_parked`; of each line only as far as the order of all of them is known. It reads in pages: the
-- first is as large as the claim, and the more are held up by their keys, the larger the next, so that to park many costs
-- few pages.

create or replace function kinfolk.pick_keyed(
    p_worker uuid, p_queue integer, p_commands text[], p_groups integer[], p_limit integer, p_lanes kinfolk.lane[],
    p_rooms integer[], p_beside boolean, p_limited boolean, p_suspects boolean, p_low_priority integer[],
    p_low_place timestamptz[], p_low_id bigint[], p_now timestamptz,
    out ids bigint[], out tops bigint[], out keyed boolean, out short boolean, out more boolean, out left_out boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_left integer := p_limit;
    v_size integer := p_limit;
    v_top_room integer := coalesce(p_rooms[array_position(p_lanes, 'top')], 0);
    v_child_room integer := coalesce(p_rooms[array_position(p_lanes, 'child')], 0);
    v_commands integer[];
    v_marks record;
    v_marked boolean;
    v_reserved boolean;
    v_bounced bigint[] := '{}';
    v_may_suspect boolean := false;
    v_parked integer := 0;
    v_behind_groups integer[] := '{}';
    v_behind_keys text[] := '{}';
    v_priority integer := -2147483648;
    v_place timestamptz := '-infinity';
    v_id bigint := 0;
    v_slack integer := 8;
    v_heads record;
    v_page record;
begin
    ids := '{}';
    tops := '{}';
    keyed := false;
    more := false;
    left_out := false;
    if kinfolk.awaited_groups(p_groups) <> '{}' then
        perform kinfolk.mark_keys(p_queue, p_groups, p_now);
    end if;
    -- point: claim.marked
    v_commands := array(select c.id from kinfolk.command c where c.name = any (p_commands));
    select m.commands, m.groups, m.keys, m.is_full, m.is_later
    into v_marks
    from kinfolk.next_marks(p_worker, p_queue, v_commands) m;
    v_marked := v_marks.keys is not null;
    v_reserved := exists (select from kinfolk.reserved r where r.group_id = any (p_groups));
    if p_suspects or v_marked then
        v_may_suspect := kinfolk.may_run_suspect(p_worker);
    end if;

    if not (p_beside or v_marked or v_reserved) then
        p_lanes := '{top}';
    end if;
    if not (v_marked or v_reserved or p_suspects) and p_low_id = '{}'
        and (cardinality(v_commands) > 1 or p_groups = '{}')
    then
        if not kinfolk.has_open(p_queue, array(
            select c.name
            from kinfolk.command c
            where c.id = any (v_commands)
                and c.grouped))
        then
            -- Nothing here that groups are asked about; what has come since then must not go past them.
            select p.ids, p.tops, p.keyed, p.short
            into ids, tops, keyed, short
            from kinfolk.pick(p_queue, kinfolk.without_groups(p_commands), p_limit, p_lanes, p_rooms, '{}', '{}', '{}') p;
            return;
        end if;
        select array_agg(c.name), array_agg(c.id)
        into p_commands, v_commands
        from kinfolk.command c
        where c.id = any (v_commands)
            and kinfolk.has_open(p_queue, array[c.name]);
    end if;

    while v_left > 0 loop
        if v_marked or v_reserved or v_may_suspect or p_low_id <> '{}' or cardinality(p_lanes) > 1
            or cardinality(v_commands) > 1
        then
            select h.* into v_heads
            from kinfolk.line_up(p_queue, p_commands, p_groups, v_size, p_lanes, v_top_room, v_child_room,
                v_marks.commands, v_marks.groups, v_marks.keys, v_reserved, v_may_suspect, p_low_priority,
                p_low_place, p_low_id, v_priority, v_place, v_id,
                v_slack, p_now) h;
            v_slack := least(4 * v_slack, 10000);
        else
            -- One line: nothing to merge.
            with line as materialized (
                select t.id, t.command_id, t.keys, t.unique_held and t.runs = 0 as starts_keyed
                from kinfolk.task t
                where t.queue_id = p_queue
                    and t.lane = p_lanes[1]
                    and t.command_id = v_commands[1]
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and not t.suspect
                    and (t.priority, t.place, t.id) > (v_priority, v_place, v_id)
                order by t.priority, t.place, t.id
                limit v_size
                for update skip locked
            )
            select array_agg(l.id) as ids, array_agg(l.command_id) as commands, array_agg(l.keys) as keys,
                null::integer[] as places, null::integer[] as edges,
                bool_or(l.starts_keyed) as keyed, false as suspects, count(*) < v_size as is_last, false as left_out,
                null::bigint as last
            into v_heads
            from line l;
        end if;
        left_out := left_out or v_heads.left_out;
        if v_heads.ids is null then
            exit when v_heads.is_last or v_heads.last is null;
            -- All of them are in other hands: go on behind them.
            select t.priority, t.place, t.id
            into v_priority, v_place, v_id
            from kinfolk.task t
            where t.id = v_heads.last;
            v_size := kinfolk.next_size(v_size, v_left, 0);
            continue;
        end if;
        -- point: claim.lined_up
        select a.* into v_page
        from kinfolk.admit_page(v_heads.ids, v_heads.commands, v_heads.keys, v_heads.places, v_heads.edges, v_top_room,
            v_child_room, v_may_suspect, v_left, p_limited or v_heads.suspects, p_now) a;
        ids := ids || v_page.taken;
        tops := tops || v_page.tops;
        keyed := keyed or v_heads.keyed;
        v_left := v_left - cardinality(v_page.taken);
        v_top_room := v_top_room - cardinality(v_page.tops);
        v_child_room := v_child_room - v_page.children;
        v_may_suspect := v_may_suspect and not v_page.suspect;
        v_parked := v_parked + cardinality(v_page.behind_groups);
        v_behind_groups := v_behind_groups || v_page.behind_groups;
        v_behind_keys := v_behind_keys || v_page.behind_keys;
        v_bounced := v_bounced || v_page.bounced;
        exit when v_heads.is_last and v_page.is_whole;
        if v_parked >= 2 * kinfolk.claim_batch_max() then
            more := true;
            exit;
        end if;
        select t.priority, t.place, t.id
        into v_priority, v_place, v_id
        from kinfolk.task t
        where t.id = v_page.last;
        v_size := kinfolk.next_size(v_size, v_left, cardinality(v_page.taken));
    end loop;
    perform kinfolk.reserve(b) from unnest(v_bounced) b;
    if v_marked or v_parked > 0 then
        perform kinfolk.unmark_keys(p_queue, v_commands, v_marks.groups || v_behind_groups, v_marks.keys || v_behind_keys, p_now);
    end if;
    if v_marks.is_full or v_marks.is_later then
        -- Whoever has use for more looks at the next ones; who has not begins again with the first.
        v_marks.is_full := v_marks.is_full and v_left > 0 and not more;
        more := kinfolk.go_on_behind(p_worker, p_queue, case when v_marks.is_full then v_marks.commands end, v_marks.groups,
                v_marks.keys)
                and v_marks.is_full
            or more;
    end if;
    short := v_left > 0 and p_low_id <> '{}';
end
$$;

-- The marks that a claim of this worker is to look at, not more than it could have use for: those behind the one where its
-- last claim ended, if that one could have used more. So those that nobody can use now, since a lane is full or other keys
-- hold up who waits there, do not hide the rest. `is_full`: there may be more behind them; `is_later`: its last claim ended at one.
create or replace function kinfolk.next_marks(
    p_worker uuid, p_queue integer, p_commands integer[],
    out commands integer[], out groups integer[], out keys text[], out is_full boolean, out is_later boolean
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_behind record;
begin
    select wq.mark_command, wq.mark_group, wq.mark_key
    into v_behind
    from kinfolk.worker_queue wq
    where wq.queue_id = p_queue
        and wq.worker_id = p_worker;
    is_later := v_behind.mark_command is not null;
    select m.commands, m.groups, m.keys, m.is_full
    into commands, groups, keys, is_full
    from kinfolk.marks_behind(p_queue, p_commands, v_behind.mark_command, v_behind.mark_group, v_behind.mark_key) m;
    if is_later and keys is null then
        select m.commands, m.groups, m.keys, m.is_full
        into commands, groups, keys, is_full
        from kinfolk.marks_behind(p_queue, p_commands, null, null, null) m;
    end if;
end
$$;

-- The marks of these commands behind a position, which may be null, in the order of `ready_key`, command by command: no more of
-- them are read than a claim is to look at.
create or replace function kinfolk.marks_behind(
    p_queue integer, p_commands integer[], p_command integer, p_group integer, p_key text,
    out commands integer[], out groups integer[], out keys text[], out is_full boolean
)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    select array_agg(m.command_id order by m.nth), array_agg(m.group_id order by m.nth), array_agg(m.key order by m.nth),
        count(*) >= kinfolk.claim_batch_max()
    into commands, groups, keys, is_full
    from (
        select row_number() over () as nth, c.id as command_id, m.group_id, m.key
        from (select c.id from unnest(p_commands) as c(id) order by c.id) c
        cross join lateral (
            select m.group_id, m.key
            from kinfolk.ready_key m
            where m.queue_id = p_queue
                and m.command_id = c.id
                and (m.group_id, m.key) > (
                    case when c.id = p_command then p_group else 0 end,
                    case when c.id = p_command then p_key else '' end)
            order by m.group_id, m.key
            limit kinfolk.claim_batch_max()
        ) m
        where c.id >= coalesce(p_command, 0)
        limit kinfolk.claim_batch_max()
    ) m;
end
$$;

-- Notes down the mark behind which the next claim of this worker goes on: the last of these, or none. If another claim of it
-- has that in hand, it stays as it is, and the answer is no.
create or replace function kinfolk.go_on_behind(
    p_worker uuid, p_queue integer, p_commands integer[], p_groups integer[], p_keys text[]
) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_last integer := cardinality(p_commands);
begin
    perform
    from kinfolk.worker_queue wq
    where wq.queue_id = p_queue
        and wq.worker_id = p_worker
    for no key update skip locked;
    if not found then
        return false;
    end if;
    update kinfolk.worker_queue wq
    set
        mark_command = p_commands[v_last],
        mark_group = p_groups[v_last],
        mark_key = p_keys[v_last]
    where wq.queue_id = p_queue
        and wq.worker_id = p_worker;
    return true;
end
$$;

-- How many candidates to read next, where so many start still and `p_taken` of a page of `p_size` did: twice as many as
-- are needed if it goes on like that.
create or replace function kinfolk.next_size(p_size integer, p_left integer, p_taken integer) returns integer
language sql immutable
as $$
    select greatest(
        p_left,
        least(case p_taken when 0 then 8 * p_size else 2 * p_left * p_size / p_taken end, kinfolk.claim_batch_max()))
$$;

-- Whether a claim of this worker may take a suspect: it runs none, and no other claim or heartbeat of it is at work right now.
create or replace function kinfolk.may_run_suspect(p_worker uuid) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    -- Two claims of one worker must not take a suspect each.
    perform from kinfolk.worker w where w.id = p_worker for no key update skip locked;
    return found and not exists (
        select
        from kinfolk.task t
        where t.worker_id = p_worker
            and t.state = 'running'
            and t.suspect);
end
$$;

-- The next candidates of a claim in order, behind a position, and locks them: open tasks, suspects, what waits behind
-- marked keys, and those for which room is kept. What stands behind the last row read of a line is not known, so
-- candidates end there. Behind a marked key hardly more are read (`p_slack`) than it has room for: if so many start,
-- there is no more to be had there; if not, because other keys hold them up, what comes after the last of them in that
-- line must be looked at before what comes after it in the others: `edges` is that place, by candidate; `places`: its
-- own. `last`: behind whom to go on, if all are in other hands.
create or replace function kinfolk.line_up(
    p_queue integer, p_commands text[], p_groups integer[], p_size integer, p_lanes kinfolk.lane[], p_top_room integer,
    p_child_room integer, p_mark_commands integer[], p_mark_groups integer[], p_mark_keys text[], p_reserved boolean,
    p_suspects boolean, p_low_priority integer[], p_low_place timestamptz[], p_low_id bigint[], p_priority integer,
    p_place timestamptz, p_id bigint, p_slack integer, p_now timestamptz,
    out ids bigint[], out commands integer[], out keys jsonb[], out places integer[], out edges integer[],
    out keyed boolean, out suspects boolean, out is_last boolean, out left_out boolean, out last bigint
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
    if p_mark_keys is not null then
        select array_agg(r.group_id), array_agg(r.key), array_agg(c.id), array_agg(least(r.room + p_slack, v_depth))
        into v_groups, v_keys, v_command_ids, v_most
        from (
            select array_agg(k.group_id) as groups, array_agg(k.key) as keys, jsonb_agg(k.commands) as commands
            from (
                select m.group_id, m.key, array_agg(m.command_id) as commands
                from unnest(p_mark_groups, p_mark_keys, p_mark_commands) as m(group_id, key, command_id)
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
                case when (g.priority, g.place, g.id) > (p_priority, p_place, p_id) then g.priority else p_priority end as priority,
                case when (g.priority, g.place, g.id) > (p_priority, p_place, p_id) then g.place else p_place end as place,
                case when (g.priority, g.place, g.id) > (p_priority, p_place, p_id) then g.id else p_id end as id
            from unnest(p_lanes) as l(lane)
            cross join lateral kinfolk.begin_at(p_commands, l.lane, p_low_priority, p_low_place, p_low_id) g
            join kinfolk.command c on c.name = g.name
            cross join (values ('open'), ('suspect')) as k(kind)
            where k.kind = 'open' or p_suspects
            union all
            select 'waiter', m.group_id, m.key, m.command_id, l.lane, m.most, p_priority, p_place, p_id
            from unnest(v_groups, v_keys, v_command_ids, v_most) as m(group_id, key, command_id, most)
            cross join unnest(p_lanes) as l(lane)
        ) s
        where case s.lane when 'top' then p_top_room > 0 when 'child' then p_child_room > 0 else true end
    ),
    head as materialized (
        select s.nth, s.most, false as is_soft, t.id, t.priority, t.place
        from stream s
        cross join lateral (
            select t.id, t.priority, t.place
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = s.lane
                and t.command_id = s.command_id
                and t.state = 'pending'
                and t.gate = 'open'
                and not t.suspect
                and (t.priority, t.place, t.id) > (s.priority, s.place, s.id)
            order by t.priority, t.place, t.id
            limit s.most
        ) t
        where s.kind = 'open'
        union all
        select s.nth, s.most, false, t.id, t.priority, t.place
        from stream s
        cross join lateral (
            select t.id, t.priority, t.place
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = s.lane
                and t.command_id = s.command_id
                and t.state = 'pending'
                and t.gate = 'open'
                and t.suspect
                and (t.priority, t.place, t.id) > (p_priority, p_place, p_id)
            order by t.priority, t.place, t.id
            limit s.most
        ) t
        where s.kind = 'suspect'
        union all
        select s.nth, s.most, s.most < v_depth, t.id, t.priority, t.place
        from stream s
        cross join lateral (
            select t.id, t.priority, t.place
            from kinfolk.task t
            where t.parked_group = s.group_id
                and t.parked_key = s.key
                and t.queue_id = p_queue
                and t.command_id = s.command_id
                and t.lane = s.lane
                and t.gate = 'limit'
                and (t.priority, t.place, t.id) > (s.priority, s.place, s.id)
            order by t.priority, t.place, t.id
            limit s.most
        ) t
        where s.kind = 'waiter'
        union all
        -- Others may stand before it in the line that it waits in, and are not for the room that is kept.
        select -r.task_id, 0, false, t.id, t.priority, t.place
        from (select distinct r.task_id from kinfolk.reserved r where p_reserved and r.group_id = any (p_groups)) r
        cross join lateral (
            select t.id, t.priority, t.place, t.queue_id, t.lane, t.command_id, t.gate
            from kinfolk.task t
            where t.id = r.task_id
            offset 0
        ) t
        join kinfolk.command c on c.id = t.command_id
        where t.queue_id = p_queue
            and t.gate = 'limit'
            and t.lane = any (p_lanes)
            and c.name = any (p_commands)
            and (t.priority, t.place, t.id) > (p_priority, p_place, p_id)
    ),
    lined_up as (
        select h.*, dense_rank() over (order by h.priority, h.place, h.id)::integer as pos
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
        select c.id as chosen, c.pos, c.edge, t.id, t.command_id, t.keys, t.suspect, t.starts_keyed
        from chosen c
        left join lateral (
            select t.id, t.command_id, t.keys, t.suspect, t.unique_held and t.runs = 0 as starts_keyed
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
        array_agg(k.pos order by k.pos) filter (where k.id is not null) as places,
        array_agg(coalesce(k.edge, 2147483647) order by k.pos) filter (where k.id is not null) as edges,
        bool_or(k.starts_keyed) as keyed, bool_or(k.suspect) as suspects, bool_or(k.id is null) as left_out, count(*) as chosen,
        (select max(e.pos) from ended e) as read, (select bool_or(e.is_full) from ended e) as is_full,
        least(max(k.pos), min(k.edge)) as reached, array_agg(k.chosen order by k.pos) as candidates
    into v_lined
    from locked k;
    ids := v_lined.ids;
    commands := v_lined.commands;
    keys := v_lined.keys;
    places := v_lined.places;
    edges := v_lined.edges;
    keyed := coalesce(v_lined.keyed, false);
    suspects := coalesce(v_lined.suspects, false);
    left_out := coalesce(v_lined.left_out, false);
    -- Positions are counted from the first candidate on, without gaps.
    last := v_lined.candidates[v_lined.reached];
    is_last := not coalesce(v_lined.is_full, false) and v_lined.chosen >= coalesce(v_lined.read, 0);
end
$$;
