-- Locks and returns the next candidates of a claim in order, behind a stand. Rows behind the last row read of a line are unknown, so
-- the candidates end there. `edges`: of a ready waiter, the last candidate that is ready behind the same key in the same line. If it
-- does not take the room for which it is ready, tasks that are not ready yet come behind that one.
--
-- Locks tasks, never waiting. One statement ranks and locks, so that both see the same tasks. Runs under the settings of the claim.
create or replace function kinfolk.line_up(
    p_scope kinfolk.claim_scope, p_admission kinfolk.claim_admission, p_lanes kinfolk.lane[], p_behind kinfolk.stand, p_size integer
) returns kinfolk.claim_page
language plpgsql volatile
as $$
declare
    v_depth integer := least(p_size, greatest(16, 2 * p_size / greatest(cardinality(p_scope.commands), 1)));
    v_page kinfolk.claim_page;
begin
    with head as materialized (
        select h.id, row_number() over (order by h.priority, h.position, h.id) as pos, count(*) over line = v_depth as is_full, h.nth
        from kinfolk.line_heads(p_scope, p_admission, p_lanes, p_behind, v_depth) h
        window line as (partition by h.nth)
    ),
    chosen as materialized (
        select h.id, h.pos
        from head h
        where h.pos <= least(p_size, (
            select min(e.last) from (select max(h.pos) as last from head h where h.is_full group by h.nth) e))
    ),
    locked as materialized (
        select c.id as chosen, c.pos, t.*
        from chosen c
        left join lateral (
            select t.id, t.command_id, t.lane, t.keys, t.suspect, t.unique_held and t.runs = 0 as starts_unique, t.blocked_group, t.blocked_key
            from kinfolk.task t
            where t.id = c.id
                and t.state::text = 'pending'
                and t.gate::text in ('open', 'ready')
            for update skip locked
        ) t on true
    ),
    candidate as (
        select k.*, row_number() over (order by k.pos)::integer as rank
        from locked k
        where k.id is not null
    )
    select c.ids, c.commands, c.keys, c.edges, c.groups, c.behind, null, coalesce(c.starts_unique, false), coalesce(c.suspects, false), '{}',
        l.left_out, l.many >= (select count(*) from head) and not exists (select from head h where h.is_full), l.last
    into v_page.ids, v_page.commands, v_page.keys, v_page.edges, v_page.behind_groups, v_page.behind_keys, v_page.turns, v_page.starts_unique,
        v_page.suspects, v_page.skipped, v_page.left_out, v_page.is_last, v_page.last
    from (
        select array_agg(c.id order by c.rank) as ids, array_agg(c.command_id order by c.rank) as commands,
            array_agg(c.keys order by c.rank) as keys, array_agg(c.edge order by c.rank) as edges,
            array_agg(c.blocked_group order by c.rank) as groups, array_agg(c.blocked_key order by c.rank) as behind,
            bool_or(c.starts_unique) as starts_unique, bool_or(c.suspect) as suspects
        from (
            select c.*, case when c.blocked_group is not null
                then max(c.rank) over (partition by c.blocked_group, c.blocked_key, c.command_id, c.lane, c.suspect) end as edge
            from candidate c
        ) c
    ) c
    cross join (
        select coalesce(bool_or(k.id is null), false) as left_out, count(*) as many, (array_agg(k.chosen order by k.pos desc))[1] as last
        from locked k
    ) l;
    return v_page;
end
$$;
