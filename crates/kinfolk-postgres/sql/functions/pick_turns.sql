-- Turns: on a queue with a fair key the values of that key come one after another inside a priority, so that one with
-- many tasks does not hold up the next with a few.
--
-- The open tasks of such a queue are lined up behind their values: their gate is `limit`, and `parked_group` is the
-- queue's number below zero, `parked_key` the value. So each line is a range of `task_turn`, however a task came to
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
-- from the one after `p_turn` on, then the second of each. A task that is parked behind a full key has had its turn; a lane
-- without room is not looked at. `p_taken`: what this claim has already. `turn`: the value of the last one taken. What is in
-- other hands is passed over. Pages grow as they do in `pick_keyed`.
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
    v_seek text := p_turn;
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
        from kinfolk.next_turns(p_queue, v_commands, v_size, p_lanes, nullif(least(v_top_room, v_left), v_left),
            nullif(least(v_child_room, v_left), v_left), v_passed, v_seek) l;
        left_out := left_out or v_line.left_out;
        v_passed := v_passed || v_line.passed;
        if v_line.ids is null then
            exit when v_line.passed = '{}';
            v_size := kinfolk.next_size(v_size, v_left, 0);
            continue;
        end if;
        v_seek := v_line.turns[cardinality(v_line.turns)];
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
        exit when v_page.taken = '{}' and v_page.behind_groups = '{}';
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

-- The next tasks of one priority in the order of turns, locked; without those that a claim has taken or passed over, and no
-- more of a lane than it has room for (null: for all). Only as many values are looked at as tasks are asked for. What stands behind the last
-- row read of a line is not known: they end there. `passed`: those that are in other hands. Reads `task_turn`.
create or replace function kinfolk.next_turns(
    p_queue integer, p_commands integer[], p_size integer, p_lanes kinfolk.lane[], p_top_room integer,
    p_child_room integer, p_passed bigint[], p_turn text,
    out ids bigint[], out commands integer[], out keys jsonb[], out turns text[], out keyed boolean, out left_out boolean,
    out passed bigint[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_lanes kinfolk.lane[] := array(
        select l.lane
        from unnest(p_lanes) as l(lane)
        where case l.lane when 'top' then coalesce(p_top_room > 0, true) when 'child' then coalesce(p_child_room > 0, true) else true end);
    v_values record;
    v_depth integer;
begin
    select array_agg(n.priority) as priorities, array_agg(n.value) as values, count(*) as many
    into v_values
    from kinfolk.next_values(p_queue, p_commands, p_size, v_lanes, p_passed, p_turn) n;
    v_depth := case when v_values.many >= p_size then 1 else 1 + 2 * p_size / greatest(v_values.many, 1) end;

    with stream as materialized (
        select row_number() over () as nth, v.priority, v.value, c.id as command_id, l.lane
        from unnest(v_values.priorities, v_values.values) as v(priority, value)
        cross join unnest(p_commands) as c(id)
        cross join unnest(v_lanes) as l(lane)
    ),
    head as materialized (
        select s.nth, s.priority, s.lane, coalesce(s.value collate "C" <= p_turn, false) as is_late,
            s.value collate "C" as value, t.id,
            row_number() over (partition by s.priority, s.value order by t.place, t.id) as round
        from stream s
        cross join lateral (
            select t.id, t.place
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.command_id = s.command_id
                and t.lane = s.lane
                and t.priority = s.priority
                and t.parked_key = s.value
                and t.gate = 'limit'
                and t.parked_group < 0
                and t.id <> all (p_passed)
            order by t.place, t.id
            limit v_depth
        ) t
    ),
    -- Whoever stands behind the last row read of a line comes in a later round than that one.
    edge as materialized (
        select h.priority, max(h.round) + 1 as round, h.is_late, h.value
        from head h
        group by h.nth, h.priority, h.is_late, h.value
        having count(*) >= v_depth
        order by 1, 2, 3, 4
        limit 1
    ),
    ordered as materialized (
        select h.id, h.value, h.priority = min(h.priority) over () as is_first, row_number() over turn_order as pos,
            count(*) filter (where h.lane = 'top') over turn_order as tops,
            count(*) filter (where h.lane = 'child') over turn_order as children
        from head h
        where not exists (
            select
            from edge e
            where (h.priority, h.round, h.is_late, h.value) >= (e.priority, e.round, e.is_late, e.value))
        window turn_order as (order by h.priority, h.round, h.is_late, h.value)
    ),
    chosen as materialized (
        select o.id, o.value, o.pos
        from ordered o
        where o.is_first
            and coalesce(o.tops <= p_top_room, true)
            and coalesce(o.children <= p_child_room, true)
        order by o.pos
        limit p_size
    ),
    locked as materialized (
        select c.id as chosen, c.pos, c.value, t.id, t.command_id, t.keys, t.starts_keyed
        from chosen c
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
        coalesce(bool_or(k.starts_keyed), false), coalesce(bool_or(k.id is null), false),
        coalesce(array_agg(k.chosen) filter (where k.id is null), '{}')
    into ids, commands, keys, turns, keyed, left_out, passed
    from locked k;
end
$$;

-- The next values in the order of turns, as many as asked for: of each priority those behind `p_turn`, then the others. None
-- that has but tasks that were passed over. Steps from one to the next in `task_turn`.
create or replace function kinfolk.next_values(
    p_queue integer, p_commands integer[], p_many integer, p_lanes kinfolk.lane[], p_passed bigint[], p_turn text
) returns table (priority integer, value text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    return query
    with recursive turn as (
        (
            select l.priority, v.value, v.is_late
            from kinfolk.next_level(p_queue, p_commands, p_lanes, p_passed, -2147483649) l
            cross join lateral kinfolk.first_value(p_queue, p_commands, p_lanes, p_passed, p_turn, l.priority) v
        )
        union all
        select n.priority, n.value, n.is_late
        from turn t
        cross join lateral (
            (
                select t.priority, v.value, t.is_late
                from kinfolk.value_behind(p_queue, p_commands, p_lanes, p_passed, t.priority, t.value) v
                where not t.is_late
                    or v.value collate "C" <= p_turn
            )
            union all
            (
                select t.priority, v.value, true
                from kinfolk.value_behind(p_queue, p_commands, p_lanes, p_passed, t.priority, null) v
                where not t.is_late
                    and v.value collate "C" <= p_turn
            )
            union all
            (
                select l.priority, v.value, v.is_late
                from kinfolk.next_level(p_queue, p_commands, p_lanes, p_passed, t.priority) l
                cross join lateral kinfolk.first_value(p_queue, p_commands, p_lanes, p_passed, p_turn, l.priority) v
            )
            limit 1
        ) n
    )
    select t.priority, t.value
    from turn t
    limit p_many;
end
$$;

-- The next priority behind this one in which someone waits for a turn.
create or replace function kinfolk.next_level(
    p_queue integer, p_commands integer[], p_lanes kinfolk.lane[], p_passed bigint[], p_behind bigint
) returns table (priority integer)
language sql stable
as $$
    select t.priority
    from unnest(p_commands) as c(id)
    cross join unnest(p_lanes) as l(lane)
    cross join lateral (
        select t.priority
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.command_id = c.id
            and t.lane = l.lane
            and t.priority > p_behind
            and t.gate = 'limit'
            and t.parked_group < 0
            and t.id <> all (p_passed)
        order by t.priority, t.parked_key, t.place, t.id
        limit 1
    ) t
    order by t.priority
    limit 1
$$;

-- The next value of a priority behind this one, or the first of all: null.
create or replace function kinfolk.value_behind(
    p_queue integer, p_commands integer[], p_lanes kinfolk.lane[], p_passed bigint[], p_priority integer, p_value text
) returns table (value text)
language sql stable
as $$
    select t.value
    from unnest(p_commands) as c(id)
    cross join unnest(p_lanes) as l(lane)
    cross join lateral (
        (
            select t.parked_key as value
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.command_id = c.id
                and t.lane = l.lane
                and t.priority = p_priority
                and t.parked_key > p_value
                and t.gate = 'limit'
                and t.parked_group < 0
                and t.id <> all (p_passed)
            order by t.parked_key, t.place, t.id
            limit 1
        )
        union all
        (
            select t.parked_key
            from kinfolk.task t
            where p_value is null
                and t.queue_id = p_queue
                and t.command_id = c.id
                and t.lane = l.lane
                and t.priority = p_priority
                and t.gate = 'limit'
                and t.parked_group < 0
                and t.id <> all (p_passed)
            order by t.parked_key, t.place, t.id
            limit 1
        )
    ) t
    order by t.value
    limit 1
$$;

-- The value that has the first turn of a priority. `is_late`: all that come behind `p_turn` have nobody.
create or replace function kinfolk.first_value(
    p_queue integer, p_commands integer[], p_lanes kinfolk.lane[], p_passed bigint[], p_turn text, p_priority integer
) returns table (value text, is_late boolean)
language sql stable
as $$
    select v.value, v.is_late
    from (
        (
            select v.value, false as is_late
            from kinfolk.value_behind(p_queue, p_commands, p_lanes, p_passed, p_priority, p_turn) v
        )
        union all
        (
            select v.value, true
            from kinfolk.value_behind(p_queue, p_commands, p_lanes, p_passed, p_priority, null) v
        )
    ) v
    limit 1
$$;
