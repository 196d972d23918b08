-- Writes those of these tasks that have no unique key and can be made, by one statement, and answers how many. One whose number
-- exists already was made by the same call before. `p_largest`: how large the largest payload is in memory. `p_unknown`: those that name
-- a group which their command does not have. Locks nothing that exists.

create or replace function kinfolk.insert_tasks(
    p_tasks kinfolk.given_tasks, p_largest integer, p_unknown integer[], p_now timestamptz
) returns integer
language plpgsql volatile
as $$
declare
    -- Numbers are taken in one go, so those of a call that is sent again stand side by side.
    v_repeated boolean := kinfolk.in_use(p_tasks.ids);
    v_made integer;
begin
    insert into kinfolk.task
        (id, queue_id, command_id, state, gate, priority, max_attempts, position, due, created_at, timeout_us, trace, payload, keys)
    select
        g.id, coalesce(q.id, c.queue_id), c.id, 'pending',
        case
            when coalesce(g.due, p_now + g.delay_us * interval '1 microsecond', p_now) > p_now then 'time'::kinfolk.gate
            else 'open'::kinfolk.gate
        end,
        coalesce(g.priority, c.priority), coalesce(g.max_attempts, c.max_attempts, kinfolk.attempts_default()),
        greatest(p_now, coalesce(g.due, p_now + g.delay_us * interval '1 microsecond', p_now)),
        coalesce(g.due, p_now + g.delay_us * interval '1 microsecond', p_now),
        p_now, coalesce(g.timeout_us, c.timeout_us), g.trace,
        case when pg_column_size(g.payload) <= 256 then g.payload end, nullif(g.keys, '{}')
    from unnest(p_tasks.ids, p_tasks.commands, p_tasks.payloads, p_tasks.queues, p_tasks.priorities, p_tasks.dues, p_tasks.delays_us,
            p_tasks.keys, p_tasks.max_attempts, p_tasks.timeouts_us, p_tasks.traces, p_tasks.slot_keys)
        with ordinality as g(id, command, payload, queue, priority, due, delay_us, key, max_attempts, timeout_us, trace, keys, nth)
    join kinfolk.command c on c.name = g.command
    left join kinfolk.queue q on q.name = g.queue
    where g.key is null
        and (g.queue is null or q.id is not null)
        and g.nth <> all (p_unknown)
        and not (v_repeated and exists (select from kinfolk.task t where t.id = g.id));
    get diagnostics v_made = row_count;
    if p_largest > 256 then
        insert into kinfolk.body (task_id, payload)
        select g.id, g.payload
        from unnest(p_tasks.ids, p_tasks.commands, p_tasks.payloads, p_tasks.queues, p_tasks.keys)
            with ordinality as g(id, command, payload, queue, key, nth)
        join kinfolk.command c on c.name = g.command
        left join kinfolk.queue q on q.name = g.queue
        where pg_column_size(g.payload) > 256
            and g.key is null
            and (g.queue is null or q.id is not null)
            and g.nth <> all (p_unknown)
        on conflict (task_id) do nothing;
    end if;
    return v_made;
end
$$;
