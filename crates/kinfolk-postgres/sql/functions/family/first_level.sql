-- Tasks that have just become terminal, counted by fan-out, with the depths of their fan-outs. One row. The arrays are those of
-- `ended`. Has no settings of its own, so that the planner inlines it.
create or replace function kinfolk.first_level(p_fan_outs bigint[], p_states kinfolk.state[], p_after boolean[])
returns setof kinfolk.new_ends
language sql stable
as $$
    select array_agg(g.id), array_agg(f.depth), array_agg(g.completed), array_agg(g.failed), array_agg(g.cancelled), array_agg(g.held)
    from (
        select e.id, count(*) filter (where e.state = 'completed')::integer as completed,
            count(*) filter (where e.state = 'failed')::integer as failed,
            count(*) filter (where e.state = 'cancelled')::integer as cancelled,
            count(*) filter (where e.was_after)::integer as held
        from (select unnest(p_fan_outs) as id, unnest(p_states) as state, unnest(p_after) as was_after) e
        where e.id is not null
        group by e.id
        order by e.id
    ) g
    cross join lateral (select f.depth from kinfolk.fan_out f where f.id = g.id offset 0) f
$$;
