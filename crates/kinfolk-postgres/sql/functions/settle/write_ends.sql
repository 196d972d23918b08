-- Writes attempts down that have ended, in the error log too where they failed, and their tasks as they are from then on. The
-- caller has locked the tasks, and has decided it all (`decide_settles`, `decide_lost`).

create or replace function kinfolk.write_ends(p_ends kinfolk.attempt_end[], p_now timestamptz) returns void
language plpgsql volatile
as $$
begin
    with moved as (
        update kinfolk.task t
        set
            state = e.state,
            outcome = nullif(e.own_state, e.state),
            gate = case when e.state = 'pending' then case when e.due > p_now then 'time' else 'open' end::kinfolk.gate end,
            due = coalesce(e.due, t.due),
            finished_at = case when e.state >= 'completed' then p_now end,
            worker_id = null,
            -- A call that says again how the attempt ended is known by it. Nobody says how a lost one ended.
            token = case when e.ending <> 'lost' then t.token end,
            attempt = e.next_attempt,
            suspect = e.suspect,
            strikes = e.strikes,
            result = e.result,
            failure = e.next_failure,
            unique_held = t.unique_held and (e.state < 'completed' or t.unique_scope = 'window'),
            child_slot = false,
            lane = e.next_lane
        from unnest(p_ends) e
        where t.id = e.task_id
    ),
    logged as (
        insert into kinfolk.error (at, task_id, command_id, queue_id, attempt, handler, failure)
        select p_now, e.task_id, e.command_id, e.queue_id, e.attempt, kinfolk.failing_function(e.task_id), e.failure
        from unnest(p_ends) e
        where e.ending in ('failed', 'retried')
    )
    insert into kinfolk.attempt (task_id, run, attempt, started_at, ended_at, worker_id, ending, failure)
    select e.task_id, e.run, e.attempt, e.started_at, p_now, e.worker_id, e.ending, e.failure
    from unnest(p_ends) e
    -- Of a task that was completed by its first run its own row says it all.
    where e.ending <> 'completed' or e.run > 1;
end
$$;
