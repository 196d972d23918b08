-- The tasks that a repeated call took the first time, as it answered them. Reads `task_running`.

create or replace function kinfolk.claimed_before(p_worker uuid, p_token uuid) returns setof kinfolk.claimed
language sql stable
as $$
    select t.id, c.name, coalesce(t.payload, (select b.payload from kinfolk.body b where b.task_id = t.id)),
        t.attempt::integer, t.max_attempts::integer, t.timeout_us, t.trace, t.priority, t.position, null::timestamptz, false,
        t.parent_id, coalesce(t.root_id, t.id), t.depth::integer, t.lane::text, null::bigint, t.steps, t.was_suspended, t.holds_slots,
        null::boolean, null::boolean, null::bigint[], t.keys, case when t.runs = 1 then t.started_at - t.due end
    from kinfolk.task t
    join kinfolk.command c on c.id = t.command_id
    where t.worker_id = p_worker
        and t.state = 'running'
        and t.token = p_token
    order by t.priority, t.position, t.id
$$;
