-- How long each stage of the derivations took that began after a task: its time by the clock, how many children it had, how long those ran in
-- all, and how many of them ran side by side on the average. A front end shows the same while it goes on.
-- Reads the view kinfolk.tasks, by number.

create function register.stages(after bigint) returns table (
    step text, stage text, state text, seconds numeric, children bigint, children_done bigint, child_seconds numeric, parallel numeric
)
language sql stable
as $$
    with registry(step, stage, child) as (
        values
            ('①', 'collect_changes', null),
            ('②', 'derive_statistical_unit', 'statistical_unit_refresh_batch'),
            ('②', 'derive_statistical_unit_continue', null),
            ('③', 'statistical_unit_flush_staging', null),
            ('④', 'derive_reports', null),
            ('⑤', 'derive_statistical_history', 'derive_statistical_history_period'),
            ('⑥', 'derive_statistical_unit_facet', 'derive_statistical_unit_facet_partition'),
            ('⑥b', 'statistical_unit_facet_reduce', null),
            ('⑦', 'derive_statistical_history_facet', 'derive_statistical_history_facet_period')
    ),
    task as materialized (
        select t.command, t.state, t.first_started_at, coalesce(t.finished_at, clock_timestamp()) as until
        from kinfolk.tasks t
        where t.id > stages.after and t.queue = 'analytics'
    )
    select r.step, r.stage,
        case when bool_or(t.state = 'failed') then 'failed' when bool_or(t.state in ('running', 'waiting')) then 'active'
            when bool_or(t.state = 'pending') then 'pending' else 'done' end,
        round(sum(extract(epoch from t.until - t.first_started_at)), 3),
        c.children, c.done, round(c.ran, 3), round(c.ran / nullif(c.wall, 0), 1)
    from registry r
    join task t on t.command = r.stage
    cross join lateral (
        select count(*) as children, count(*) filter (where k.state = 'completed') as done, sum(extract(epoch from k.until - k.first_started_at)) as ran,
            extract(epoch from max(k.until) - min(k.first_started_at)) as wall
        from task k
        where k.command = r.child
    ) c
    group by r.step, r.stage, c.children, c.done, c.ran, c.wall
    order by min(array_position(array['collect_changes', 'derive_statistical_unit', 'derive_statistical_unit_continue',
        'statistical_unit_flush_staging', 'derive_reports', 'derive_statistical_history', 'derive_statistical_unit_facet',
        'statistical_unit_facet_reduce', 'derive_statistical_history_facet'], r.stage))
$$;
