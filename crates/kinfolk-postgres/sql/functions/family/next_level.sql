-- The ends that are to be counted after those of one depth: the ends of this level in shallower fan-outs, and the parents that have
-- ended with this level. One row. Has no settings of its own, so that the planner inlines it.
create or replace function kinfolk.next_level(p_level kinfolk.new_ends, p_depth smallint, p_joined kinfolk.ended_owners)
returns setof kinfolk.new_ends
language sql stable
as $$
    select array_agg(n.id), array_agg(n.depth), array_agg(n.completed), array_agg(n.failed), array_agg(n.cancelled), array_agg(n.held)
    from (
        select m.id, m.depth, sum(m.completed)::integer as completed, sum(m.failed)::integer as failed,
            sum(m.cancelled)::integer as cancelled, sum(m.held)::integer as held
        from (
            select u.id, u.depth, u.completed, u.failed, u.cancelled, u.held
            from unnest(p_level.ids, p_level.depths, p_level.completed, p_level.failed, p_level.cancelled, p_level.held)
                as u(id, depth, completed, failed, cancelled, held)
            where u.depth < p_depth
            union all
            select j.fan_out_id, j.depth, (j.state = 'completed')::integer, (j.state = 'failed')::integer,
                (j.state = 'cancelled')::integer, 0
            from unnest(p_joined.fan_outs, p_joined.depths, p_joined.states) as j(fan_out_id, depth, state)
        ) m
        group by m.id, m.depth
        order by m.id
    ) n
$$;
