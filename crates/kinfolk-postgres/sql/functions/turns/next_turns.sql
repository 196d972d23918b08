-- Locks and returns the next tasks of one priority in the order of turns. Leaves out tasks that the claim has taken or
-- skipped, takes at most the room of each lane (null: all) and at most one suspect. Looks at no more values than tasks are
-- asked for. Rows behind the last row read of a line are unknown, so the tasks end there.
--
-- Locks tasks, never waiting. Reads `task_turn`. One statement orders and locks, so that both see the same tasks. Runs under the
-- settings of the claim.
create or replace function kinfolk.next_turns(
    p_queue integer, p_lines kinfolk.line[], p_size integer, p_top_room integer, p_child_room integer,
    p_passed bigint[], p_turn text
) returns kinfolk.claim_page
language plpgsql volatile
as $$
declare
    v_values record;
    v_depth integer;
    v_page kinfolk.claim_page;
begin
    select array_agg(n.priority) as priorities, array_agg(n.value) as values, count(*) as many
    into v_values
    from kinfolk.next_values(p_queue, p_lines, p_size, p_passed, p_turn) n;
    v_depth := case when v_values.many >= p_size then 1 else 1 + 2 * p_size / greatest(v_values.many, 1) end;

    with head as materialized (
        select h.nth, h.priority, h.lane, h.suspect, h.is_late, h.value collate "C" as value, h.id, h.round
        from kinfolk.turn_heads(p_queue, p_lines, v_values.priorities, v_values.values, p_passed, p_turn, v_depth) h
    ),
    -- A task behind the last row read of a line comes in a later round than that one.
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
            count(*) filter (where h.lane = 'child') over turn_order as children,
            count(*) filter (where h.suspect) over turn_order as suspects
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
            and o.suspects <= 1
        order by o.pos
        limit p_size
    ),
    locked as materialized (
        select c.id as chosen, c.pos, c.value, t.id, t.command_id, t.keys, t.starts_unique
        from chosen c
        left join lateral (
            select t.id, t.command_id, t.keys, t.unique_held and t.runs = 0 as starts_unique
            from kinfolk.task t
            where t.id = c.id
                and t.state::text = 'pending'
                and t.gate::text = 'turn'
            for update skip locked
        ) t on true
    )
    select array_agg(k.id order by k.pos) filter (where k.id is not null),
        array_agg(k.command_id order by k.pos) filter (where k.id is not null),
        array_agg(k.keys order by k.pos) filter (where k.id is not null),
        array_agg(k.value order by k.pos) filter (where k.id is not null),
        coalesce(bool_or(k.starts_unique), false), coalesce(bool_or(k.id is null), false),
        coalesce(array_agg(k.chosen) filter (where k.id is null), '{}')
    into v_page.ids, v_page.commands, v_page.keys, v_page.turns, v_page.starts_unique, v_page.left_out, v_page.skipped
    from locked k;
    return v_page;
end
$$;
