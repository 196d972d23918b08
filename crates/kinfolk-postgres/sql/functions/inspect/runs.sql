-- The course of tasks: their runs, by task, oldest first, the latest `runs_shown_max()` of each. Ended runs are rows of `attempt`.
-- A run that goes on, and a first run that completed the task's own work, are in the task's own row instead. That work ended when
-- its first child was made, if there is one, and else with the task. `awaited`, `until`, `signals`: what a suspended handler
-- waited for.
-- Errors: KF001 for too many tasks. Locks nothing. Reads `attempt` and `task` by their keys, and `task_fan_out`.

create or replace function kinfolk.runs(p_tasks bigint[])
returns table (
    task bigint, run integer, attempt smallint, started_at timestamptz, ended_at timestamptz, worker uuid, ending text,
    failure jsonb, awaited bigint[], until timestamptz, signals text[]
)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
as $$
#variable_conflict use_column
begin
    if cardinality(p_tasks) > kinfolk.page_max() then
        raise exception using errcode = 'KF001', message = format('%s tasks', cardinality(p_tasks)),
            hint = format('at most %s', kinfolk.page_max());
    end if;
    return query
    select r.*
    from (select distinct g.id from unnest(p_tasks) as g(id)) g
    cross join lateral (
        (
            select t.id, t.runs, t.attempt, t.started_at,
                case
                    when t.state <> 'running' then coalesce(
                        (select c.created_at from kinfolk.task c where c.fan_out_id = t.id and c.nth = 0), t.finished_at)
                end,
                t.ran_by, case when t.state <> 'running' then 'completed' end, null::jsonb, null::bigint[], null::timestamptz,
                null::text[]
            from kinfolk.task t
            where t.id = g.id
                and t.started_at is not null
                and not exists (select from kinfolk.attempt a where a.task_id = t.id and a.run = t.runs)
        )
        union all
        (
            select a.task_id, a.run, a.attempt, a.started_at, a.ended_at, a.worker_id, a.ending, a.failure,
                array(select f from unnest(a.awaited) f order by f), a.until, a.signals
            from kinfolk.attempt a
            where a.task_id = g.id
            order by a.run desc
            limit kinfolk.runs_shown_max()
        )
        limit kinfolk.runs_shown_max()
    ) r
    order by 1, 2;
end
$$;
