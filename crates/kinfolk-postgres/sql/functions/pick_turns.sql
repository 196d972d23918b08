-- Turns: on a queue with a fair key the values of that key come one after another inside a priority, so that one with
-- many tasks does not hold up the next with a few.
--
-- The open tasks of such a queue are lined up behind their values: their gate is `limit`, and `parked_group` is the
-- queue's number below zero, `parked_key` the value. So each line is a range of `task_parked`, however a task came to
-- be open. They are shown as open. Claims on such a queue go one after another, by the queue's admission lock.

-- Lines up the open tasks of these commands, and says whether there may be more of them. Reads `task_ready`; passes
-- over rows that someone else holds.
create or replace function kinfolk.sort_in(p_queue integer, p_commands text[], p_fair text) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_most integer := 20 * kinfolk.claim_batch_max();
    v_many integer;
begin
    with arrived as materialized (
        select t.id
        from kinfolk.command c
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        cross join lateral (
            select t.id
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = l.lane
                and t.command_id = c.id
                and t.state = 'pending'
                and t.gate = 'open'
                and not t.suspect
            order by t.priority, t.place, t.id
            limit v_most
            for update skip locked
        ) t
        where c.name = any (p_commands)
        limit v_most
    )
    update kinfolk.task t
    set
        gate = 'limit',
        parked_group = -p_queue,
        parked_key = coalesce(t.keys ->> p_fair, '')
    from arrived a
    where t.id = a.id;
    get diagnostics v_many = row_count;
    return v_many >= v_most;
end
$$;

-- Locks the tasks whose turn it is, and takes their slots, as `pick_keyed` does for other queues: one of each value,
-- from the one after `p_turn` on, then the second of each. `p_taken`: what this claim has already. `turn`: the value of
-- the last one taken. What is in other hands is passed over. Pages grow as they do in `pick_keyed`.
create or replace function kinfolk.pick_turns(
    p_queue integer, p_commands text[], p_limit integer, p_lanes kinfolk.lane[], p_rooms integer[], p_taken bigint[],
    p_turn text, p_now timestamptz,
    out ids bigint[], out tops bigint[], out keyed boolean, out more boolean, out left_out boolean, out turn text
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_left integer := p_limit - cardinality(p_taken);
    v_size integer := v_left;
    v_passed bigint[] := p_taken;
    v_top_room integer := coalesce(p_rooms[array_position(p_lanes, 'top')], 0);
    v_child_room integer := coalesce(p_rooms[array_position(p_lanes, 'child')], 0);
    v_commands integer[] := array(select c.id from kinfolk.command c where c.name = any (p_commands));
    v_behind_groups integer[] := '{}';
    v_behind_keys text[] := '{}';
    v_bounced bigint[] := '{}';
    v_line record;
    v_page record;
begin
    ids := '{}';
    tops := '{}';
    keyed := false;
    more := false;
    left_out := false;
    turn := p_turn;
    select v_top_room - count(*) filter (where t.lane = 'top'), v_child_room - count(*) filter (where t.lane = 'child')
    into v_top_room, v_child_room
    from unnest(p_taken) as g(id)
    join kinfolk.task t on t.id = g.id;
    while v_left > 0 loop
        select l.* into v_line
        from kinfolk.next_turns(p_queue, v_commands, v_size, p_lanes, v_top_room, v_child_room, v_passed, turn) l;
        left_out := left_out or v_line.left_out;
        v_passed := v_passed || v_line.passed;
        if v_line.ids is null then
            exit when v_line.is_last or v_line.passed = '{}';
            v_size := kinfolk.next_size(v_size, v_left, 0);
            continue;
        end if;
        select a.* into v_page
        from kinfolk.admit_page(v_line.ids, v_line.commands, v_line.keys, null, null, v_top_room, v_child_room, false,
            v_left, true, p_now) a;
        ids := ids || v_page.taken;
        v_passed := v_passed || v_page.taken;
        tops := tops || v_page.tops;
        keyed := keyed or v_line.keyed;
        v_left := v_left - cardinality(v_page.taken);
        v_top_room := v_top_room - cardinality(v_page.tops);
        v_child_room := v_child_room - v_page.children;
        v_behind_groups := v_behind_groups || v_page.behind_groups;
        v_behind_keys := v_behind_keys || v_page.behind_keys;
        v_bounced := v_bounced || v_page.bounced;
        if v_page.taken <> '{}' then
            turn := v_line.turns[array_position(v_line.ids, v_page.taken[cardinality(v_page.taken)])];
        end if;
        exit when v_line.is_last or (v_page.taken = '{}' and v_page.behind_groups = '{}');
        if cardinality(v_behind_groups) >= 2 * kinfolk.claim_batch_max() then
            more := true;
            exit;
        end if;
        v_size := kinfolk.next_size(v_size, v_left, cardinality(v_page.taken));
    end loop;
    perform kinfolk.reserve(b) from unnest(v_bounced) b;
    if v_behind_groups <> '{}' then
        perform kinfolk.unmark_keys(p_queue, v_commands, v_behind_groups, v_behind_keys, p_now);
    end if;
    if turn is distinct from p_turn then
        update kinfolk.queue q set turn = pick_turns.turn where q.id = p_queue;
    end if;
end
$$;

-- The next tasks in the order of turns, locked; without those that a claim has taken or passed over. What stands behind the
-- last row read of a line is not known: they end there. `passed`: those that are in other hands.
create or replace function kinfolk.next_turns(
    p_queue integer, p_commands integer[], p_size integer, p_lanes kinfolk.lane[], p_top_room integer,
    p_child_room integer, p_passed bigint[], p_turn text,
    out ids bigint[], out commands integer[], out keys jsonb[], out turns text[], out keyed boolean, out is_last boolean,
    out left_out boolean, out passed bigint[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_values text[];
    v_depth integer;
begin
    with recursive line as (
        (
            select t.parked_key as value
            from kinfolk.task t
            where t.parked_group = -p_queue
                and t.gate = 'limit'
            order by t.parked_group, t.parked_key
            limit 1
        )
        union all
        select n.value
        from line l
        cross join lateral (
            select t.parked_key as value
            from kinfolk.task t
            where t.parked_group = -p_queue
                and t.parked_key > l.value
                and t.gate = 'limit'
            order by t.parked_group, t.parked_key
            limit 1
        ) n
    )
    select array_agg(l.value) into v_values from line l;
    v_depth := least(p_size, 8 + 2 * p_size / greatest(cardinality(v_values), 1));

    with stream as materialized (
        select row_number() over () as nth, v.value, c.id as command_id, l.lane
        from unnest(v_values) as v(value)
        cross join unnest(p_commands) as c(id)
        cross join unnest(p_lanes) as l(lane)
        where case l.lane when 'top' then p_top_room > 0 when 'child' then p_child_room > 0 else true end
    ),
    head as materialized (
        select s.nth, s.value, t.id, t.priority,
            row_number() over (partition by t.priority, s.value order by t.place, t.id) as round
        from stream s
        cross join lateral (
            select t.id, t.priority, t.place
            from kinfolk.task t
            where t.parked_group = -p_queue
                and t.parked_key = s.value
                and t.queue_id = p_queue
                and t.command_id = s.command_id
                and t.lane = s.lane
                and t.gate = 'limit'
                and t.id <> all (p_passed)
            order by t.priority, t.place, t.id
            limit v_depth
        ) t
    ),
    lined_up as materialized (
        select h.nth, h.id, h.value, row_number() over (
                order by h.priority, h.round, coalesce(h.value collate "C" <= p_turn, false), h.value collate "C") as pos
        from head h
    ),
    edge as materialized (
        select min(e.pos) as pos
        from (
            select max(l.pos) as pos
            from lined_up l
            group by l.nth
            having count(*) >= v_depth
        ) e
    ),
    locked as materialized (
        select c.id as chosen, c.pos, c.value, t.id, t.command_id, t.keys, t.starts_keyed
        from (select l.id, l.pos, l.value from lined_up l where l.pos <= least(p_size, (select e.pos from edge e))) c
        left join lateral (
            select t.id, t.command_id, t.keys, t.unique_held and t.runs = 0 as starts_keyed
            from kinfolk.task t
            where t.id = c.id
                and t.state::text = 'pending'
                and t.parked_group = -p_queue
            for update skip locked
        ) t on true
    )
    select array_agg(k.id order by k.pos) filter (where k.id is not null),
        array_agg(k.command_id order by k.pos) filter (where k.id is not null),
        array_agg(k.keys order by k.pos) filter (where k.id is not null),
        array_agg(k.value order by k.pos) filter (where k.id is not null),
        coalesce(bool_or(k.starts_keyed), false), count(*) >= (select count(*) from lined_up)
            and (select e.pos is null from edge e), coalesce(bool_or(k.id is null), false),
        coalesce(array_agg(k.chosen) filter (where k.id is null), '{}')
    into ids, commands, keys, turns, keyed, is_last, left_out, passed
    from locked k;
end
$$;
