-- Gives tasks that have ended fresh attempts: behind their gates, or waiting where there is none. The caller has locked their
-- family as a whole. Locks the tasks.

create or replace function kinfolk.begin_afresh(p_tasks bigint[], p_gates kinfolk.gate[], p_now timestamptz) returns void
language sql volatile
set search_path = pg_catalog, pg_temp
as $$
    update kinfolk.task t
    set
        state = case when g.gate is null then 'waiting'::kinfolk.state else 'pending'::kinfolk.state end,
        gate = g.gate,
        due = p_now,
        attempt = 0,
        suspect = false,
        strikes = 0,
        ran_us = null,
        started_at = null,
        finished_at = null,
        cancel_requested_at = null,
        token = null,
        result = null,
        failure = null
    from unnest(p_tasks, p_gates) as g(id, gate)
    where t.id = g.id
$$;
