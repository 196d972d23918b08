-- Enqueues tasks given as one array a property, in order; an array that is too short or empty means null for the rest.
-- Answers only the items that made no new task: a caller that sent the numbers knows the others are created. A task
-- whose number exists already was made by the same call before, and is left alone; should that call still be under way,
-- this one waits for it and fails with a unique violation: send it once more.
--
-- `p_strict`: all or nothing. A task that can't be made is an error (KF009) then, else it is answered and its neighbours are made.
--
-- `p_keys` to `p_on_duplicates` are of unique keys; `p_slot_keys` are the tasks' keys in the groups of their commands.
--
-- Locks nothing that exists. Unkeyed tasks go in by one statement, a short one where no task differs from its command's
-- defaults; keyed ones look for a holder of their key by `task_unique`, unlocked, one after another.

create or replace function kinfolk.enqueue_rows(
    p_ids bigint[],
    p_commands text[],
    p_payloads jsonb[],
    p_queues text[] default '{}',
    p_priorities integer[] default '{}',
    p_dues timestamptz[] default '{}',
    p_delays_us bigint[] default '{}',
    p_keys text[] default '{}',
    p_scopes text[] default '{}',
    p_windows_us bigint[] default '{}',
    p_on_duplicates text[] default '{}',
    p_max_attempts integer[] default '{}',
    p_timeouts_us bigint[] default '{}',
    p_traces text[] default '{}',
    p_notify boolean default true,
    p_slot_keys jsonb[] default '{}',
    p_strict boolean default false
) returns table (nth integer, outcome text, id bigint, name text)
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set jit = off
as $$
#variable_conflict use_column
declare
    v_many integer := cardinality(p_ids);
    v_now timestamptz := kinfolk.clock();
    v_first bigint;
    v_last bigint;
    v_largest integer;
    v_repeated boolean;
    v_made bigint;
    v_queues integer[];
    v_one record;
    v_unknown integer[] := '{}';
begin
    v_largest := kinfolk.require_tasks(p_ids, p_commands, p_payloads, p_priorities, p_delays_us, p_keys, p_scopes,
        p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, kinfolk.enqueue_batch_max());

    if cardinality(p_dues) > 0 then
        perform kinfolk.require_dues(p_dues);
    end if;
    if cardinality(p_slot_keys) > 0 then
        perform kinfolk.require_keys(p_slot_keys);
        v_unknown := array(
            with declared as materialized (
                select c.name, array(select cg.name from kinfolk.command_group cg where cg.command_id = c.id) as groups
                from kinfolk.command c
                where c.name = any (p_commands)
            )
            select g.nth
            from unnest(p_commands, p_slot_keys) with ordinality as g(command, keys, nth)
            join declared d on d.name = g.command
            where g.keys - d.groups <> '{}');
    end if;

    select min(i), max(i) into v_first, v_last from unnest(p_ids) i;
    if v_first < 1 or v_last > (select s.last_value from kinfolk.task_id s) then
        raise exception using errcode = 'KF001', message = 'a task number that was never given out',
            hint = 'take numbers from kinfolk.take_ids';
    end if;

    -- Numbers are taken in one go, so those of a call that is sent again stand side by side.
    v_repeated := kinfolk.in_use(v_first, v_last);

    if cardinality(p_queues) + cardinality(p_priorities) + cardinality(p_dues) + cardinality(p_delays_us) + cardinality(p_keys)
        + cardinality(p_max_attempts) + cardinality(p_timeouts_us) + cardinality(p_traces) + cardinality(p_slot_keys) = 0
    then
        insert into kinfolk.task
            (id, queue_id, command_id, state, gate, priority, max_attempts, place, due, created_at, timeout_us, payload)
        select g.id, c.queue_id, c.id, 'pending', 'open', c.priority, coalesce(c.max_attempts, kinfolk.attempts_default()),
            v_now, v_now, v_now, c.timeout_us,
            case when pg_column_size(g.payload) <= 256 then g.payload end
        from unnest(p_ids, p_commands, p_payloads) as g(id, command, payload)
        join kinfolk.command c on c.name = g.command
        where not (v_repeated and exists (select from kinfolk.task t where t.id = g.id));
    else
        insert into kinfolk.task
            (id, queue_id, command_id, state, gate, priority, max_attempts, place, due, created_at, timeout_us, trace, payload, keys)
        select
            g.id, coalesce(q.id, c.queue_id), c.id, 'pending',
            case
                when coalesce(g.due, v_now + g.delay_us * interval '1 microsecond', v_now) > v_now then 'time'::kinfolk.gate
                else 'open'::kinfolk.gate
            end,
            coalesce(g.priority, c.priority), coalesce(g.max_attempts, c.max_attempts, kinfolk.attempts_default()),
            greatest(v_now, coalesce(g.due, v_now + g.delay_us * interval '1 microsecond', v_now)),
            coalesce(g.due, v_now + g.delay_us * interval '1 microsecond', v_now),
            v_now, coalesce(g.timeout_us, c.timeout_us), g.trace,
            case when pg_column_size(g.payload) <= 256 then g.payload end, nullif(g.keys, '{}')
        from unnest(p_ids, p_commands, p_payloads, p_queues, p_priorities, p_dues, p_delays_us, p_keys, p_max_attempts,
                p_timeouts_us, p_traces, p_slot_keys)
            with ordinality as g(id, command, payload, queue, priority, due, delay_us, key, max_attempts, timeout_us,
                trace, keys, nth)
        join kinfolk.command c on c.name = g.command
        left join kinfolk.queue q on q.name = g.queue
        where g.key is null
            and (g.queue is null or q.id is not null)
            and g.nth <> all (v_unknown)
            and not (v_repeated and exists (select from kinfolk.task t where t.id = g.id));
    end if;
    get diagnostics v_made = row_count;

    if v_largest > 256 then
        insert into kinfolk.body (task_id, payload)
        select g.id, g.payload
        from unnest(p_ids, p_commands, p_payloads, p_queues, p_keys)
            with ordinality as g(id, command, payload, queue, key, nth)
        join kinfolk.command c on c.name = g.command
        left join kinfolk.queue q on q.name = g.queue
        where pg_column_size(g.payload) > 256
            and g.key is null
            and (g.queue is null or q.id is not null)
            and g.nth <> all (v_unknown)
        on conflict (task_id) do nothing;
    end if;

    if v_made < v_many then
        for v_one in
            select
                g.nth, g.id, g.key, c.id as command_id, coalesce(q.id, c.queue_id) as queue_id,
                coalesce(g.scope, 'pending')::kinfolk.unique_scope as scope, g.window_us,
                coalesce(g.on_duplicate, 'keep')::kinfolk.on_duplicate as on_duplicate,
                coalesce(g.priority, c.priority) as priority,
                coalesce(g.max_attempts, c.max_attempts, kinfolk.attempts_default()) as max_attempts,
                coalesce(g.due, v_now + coalesce(g.delay_us, 0) * interval '1 microsecond') as due,
                coalesce(g.timeout_us, c.timeout_us) as timeout_us, g.trace, g.payload, nullif(g.keys, '{}') as keys,
                case
                    when c.id is null then 'unknown_command'
                    when g.queue is not null and q.id is null then 'unknown_queue'
                    when g.nth = any (v_unknown) then 'unknown_group'
                end as why,
                case
                    when c.id is null then g.command
                    when g.queue is not null and q.id is null then g.queue
                    when g.nth = any (v_unknown) then kinfolk.unknown_group(c.id, g.keys)
                end as unknown
            from unnest(p_ids, p_commands, p_payloads, p_queues, p_priorities, p_dues, p_delays_us, p_keys, p_scopes,
                    p_windows_us, p_on_duplicates, p_max_attempts, p_timeouts_us, p_traces, p_slot_keys)
                with ordinality as g(id, command, payload, queue, priority, due, delay_us, key, scope, window_us,
                    on_duplicate, max_attempts, timeout_us, trace, keys, nth)
            left join kinfolk.command c on c.name = g.command
            left join kinfolk.queue q on q.name = g.queue
            where g.key is not null
                or c.id is null
                or (g.queue is not null and q.id is null)
                or g.nth = any (v_unknown)
            order by g.nth
        loop
            nth := v_one.nth;
            if v_one.why is not null and p_strict then
                perform kinfolk.reject(v_one.why, v_one.unknown);
            elsif v_one.why is not null then
                outcome := v_one.why;
                id := null;
                name := v_one.unknown;
                return next;
                continue;
            end if;
            select k.outcome, k.holder
            into outcome, id
            from kinfolk.enqueue_keyed(v_one.id, v_one.queue_id, v_one.command_id, v_one.priority, v_one.max_attempts,
                v_one.due, v_one.timeout_us, v_one.trace, v_one.payload, v_one.key, v_one.scope, v_one.window_us,
                v_one.on_duplicate, v_now, v_one.keys) k;
            if outcome <> 'created' then
                name := null;
                return next;
            end if;
        end loop;
    end if;

    if p_notify then
        v_queues := array(
            select distinct coalesce(q.id, c.queue_id)
            from (select distinct g.command, g.queue from unnest(p_commands, p_queues) as g(command, queue)) g
            join kinfolk.command c on c.name = g.command
            left join kinfolk.queue q on q.name = g.queue);
        perform kinfolk.notify_queues(v_queues, false);
    end if;
end
$$;
