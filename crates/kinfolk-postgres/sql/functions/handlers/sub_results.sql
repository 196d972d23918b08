-- The results of a settled fan-out for the function that goes on: those of the sub-tasks that had ended when it was decided, in the
-- order of the sub-tasks. An empty array for null. Locks nothing; reads what `results_by_index` reads.

create or replace function kinfolk.sub_results(p_fan_out bigint) returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select coalesce(jsonb_agg(jsonb_build_object('index', r.nth, 'task', r.task, 'state', r.state, 'result', r.result,
            'failure', case when r.state <> 'completed' then coalesce(r.failure, kinfolk.failure_cancelled()) end,
            'attempt', r.attempt) order by r.nth), '[]')
    from kinfolk.fan_out f
    cross join lateral kinfolk.results_by_index(f.id, 0, f.total) r
    where f.id = p_fan_out
        and r.ended < coalesce(f.decided_at, f.total)
$$;
