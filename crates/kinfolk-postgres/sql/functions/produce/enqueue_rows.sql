-- Enqueues tasks given as one array a property, in order; an array that is too short or empty means null for the rest.
-- Answers only the items that made no new task: a caller that sent the numbers knows the others are created. A task
-- whose number exists already was made by the same call before, and is left alone; should that call still be under way,
-- this one waits for it and fails with a unique violation: send it once more.
--
-- `p_strict`: all or nothing. A task that can't be made is an error (KF009) then, else it is answered and its neighbours are made.
--
-- `p_keys` to `p_on_duplicates` are of unique keys; `p_slot_keys` are the tasks' keys in the groups of their commands.
--
-- Locks nothing that exists. Where no task differs from its command's defaults, all go in by the short statement that is here: it
-- is the fastest, and needs no `given_tasks` with a copy of the arrays. All else is for `enqueue_given`.

create or replace function kinfolk.enqueue_rows(
    p_ids bigint[], p_commands text[], p_payloads jsonb[], p_queues text[] default '{}', p_priorities integer[] default '{}',
    p_dues timestamptz[] default '{}', p_delays_us bigint[] default '{}', p_keys text[] default '{}', p_scopes text[] default '{}',
    p_windows_us bigint[] default '{}', p_on_duplicates text[] default '{}', p_max_attempts integer[] default '{}',
    p_timeouts_us bigint[] default '{}', p_traces text[] default '{}', p_notify boolean default true,
    p_slot_keys jsonb[] default '{}', p_strict boolean default false
) returns table (nth integer, outcome text, id bigint, name text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_now timestamptz := kinfolk.clock();
    v_largest integer := kinfolk.require_payloads(p_ids, p_commands, p_payloads, kinfolk.enqueue_batch_max());
    v_repeated boolean;
    v_made integer;
begin
    if cardinality(p_queues) + cardinality(p_priorities) + cardinality(p_dues) + cardinality(p_delays_us) + cardinality(p_keys)
        + cardinality(p_scopes) + cardinality(p_windows_us) + cardinality(p_on_duplicates) + cardinality(p_max_attempts)
        + cardinality(p_timeouts_us) + cardinality(p_traces) + cardinality(p_slot_keys) = 0
    then
        v_repeated := kinfolk.in_use(p_ids);
        insert into kinfolk.task
            (id, queue_id, command_id, state, gate, priority, max_attempts, position, due, created_at, timeout_us, payload)
        select g.id, c.queue_id, c.id, 'pending', 'open', c.priority, coalesce(c.max_attempts, kinfolk.attempts_default()),
            v_now, v_now, v_now, c.timeout_us, case when pg_column_size(g.payload) <= 256 then g.payload end
        from unnest(p_ids, p_commands, p_payloads) as g(id, command, payload)
        join kinfolk.command c on c.name = g.command
        where not (v_repeated and exists (select from kinfolk.task t where t.id = g.id));
        get diagnostics v_made = row_count;
        if v_largest > 256 then
            insert into kinfolk.body (task_id, payload)
            select g.id, g.payload
            from unnest(p_ids, p_commands, p_payloads) as g(id, command, payload)
            join kinfolk.command c on c.name = g.command
            where pg_column_size(g.payload) > 256
            on conflict (task_id) do nothing;
        end if;
    end if;
    -- Also for those among plain ones that were made before, or can't be.
    if v_made is distinct from cardinality(p_ids) then
        return query
        select g.*
        from kinfolk.enqueue_given(row(null, p_ids, p_commands, p_payloads, p_queues, p_priorities, p_dues, p_delays_us, p_keys,
            p_scopes, p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, null, p_slot_keys,
            null)::kinfolk.given_tasks, v_largest, p_strict, v_now) g;
    end if;
    if p_notify then
        perform kinfolk.notify_commands(p_commands, p_queues);
    end if;
end
$$;
