-- Locks and returns the next candidates of a claim in order, behind a stand: open tasks, suspects, tasks behind ready keys, and tasks
-- with a reservation. Rows behind the last row read of a line are unknown, so the candidates end there. A line behind a ready key is
-- read only as far as that key has room. If all its candidates start, that key has nothing more to give. If other keys block some of
-- them, the rest of that line comes before later candidates of other lines: `edges` is that rank for each candidate, `ranks` its own.
--
-- Locks tasks, never waiting. One statement ranks and locks, so that both see the same tasks. Runs under the settings of the claim.
create or replace function kinfolk.line_up(
    p_scope kinfolk.claim_scope, p_admission kinfolk.claim_admission, p_ready kinfolk.claim_ready, p_lanes kinfolk.lane[],
    p_behind kinfolk.stand, p_size integer, p_slack integer, p_now timestamptz
) returns kinfolk.claim_page
language plpgsql volatile
as $$
declare
    v_depth integer := least(p_size, greatest(16, 2 * p_size / greatest(cardinality(p_scope.commands), 1)));
    v_lines kinfolk.claim_line[] := kinfolk.claim_lines(p_scope, p_admission, p_ready, p_lanes, p_behind, v_depth, p_slack, p_now);
    v_page kinfolk.claim_page;
begin
    with lined_up as (
        select h.*, dense_rank() over (order by h.priority, h.position, h.id)::integer as pos
        from kinfolk.line_heads(p_scope, v_lines, p_lanes, p_behind, p_ready.has_reserved) h
    ),
    -- Each with the last row read of its line, and whether there may be more. No join: there may be thousands of lines.
    ended as materialized (
        select l.id, l.pos, l.most < v_depth as is_soft, max(l.pos) over line as last, count(*) over line = l.most as is_full
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
    select array_agg(k.id order by k.pos) filter (where k.id is not null),
        array_agg(k.command_id order by k.pos) filter (where k.id is not null),
        array_agg(k.keys order by k.pos) filter (where k.id is not null),
        array_agg(k.pos order by k.pos) filter (where k.id is not null),
        array_agg(coalesce(k.edge, 2147483647) order by k.pos) filter (where k.id is not null),
        coalesce(bool_or(k.starts_unique), false), coalesce(bool_or(k.suspect), false), coalesce(bool_or(k.id is null), false),
        not coalesce((select bool_or(e.is_full) from ended e), false) and count(*) >= coalesce((select max(e.pos) from ended e), 0),
        -- Positions are counted from the first candidate on, without gaps.
        (array_agg(k.chosen order by k.pos))[least(max(k.pos), min(k.edge))]
    into v_page.ids, v_page.commands, v_page.keys, v_page.ranks, v_page.edges, v_page.starts_unique, v_page.suspects,
        v_page.left_out, v_page.is_last, v_page.last
    from locked k;
    return v_page;
end
$$;
