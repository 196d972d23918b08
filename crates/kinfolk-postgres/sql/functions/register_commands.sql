-- Makes commands known, or changes their defaults. Queues that are missing are made. Takes: queue rows, then command
-- rows, each in the order of their names; a command that is already as asked is not locked at all.
--
-- Where groups change, their admission locks come first. Null groups leave those that are registered.
--
-- A null handler leaves the one that is registered, if one is, with its hooks and its timeout; '' takes it away.

create or replace function kinfolk.register_commands(
    p_names text[], p_queues text[], p_priorities integer[], p_max_attempts integer[], p_base_ms bigint[],
    p_cap_ms bigint[], p_jitter_pct integer[], p_timeouts_us bigint[], p_handlers text[] default '{}',
    p_befores text[] default '{}', p_afters text[] default '{}', p_statement_timeouts_us bigint[] default '{}',
    p_groups jsonb[] default '{}'
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_bad record;
    v_changed integer[];
    v_nth integer;
begin
    for v_bad in
        select g.*
        from unnest(p_names, p_queues, p_priorities, p_max_attempts, p_base_ms, p_cap_ms, p_jitter_pct, p_timeouts_us,
                p_handlers, p_befores, p_afters, p_statement_timeouts_us)
            as g(name, queue, priority, max_attempts, base_ms, cap_ms, jitter_pct, timeout_us, handler, before, after,
                statement_timeout_us)
    loop
        perform kinfolk.require_name('command', v_bad.name);
        perform kinfolk.require_name('queue', v_bad.queue);
        perform kinfolk.require_policy(v_bad.priority, v_bad.max_attempts, v_bad.timeout_us);
        if v_bad.jitter_pct is null or v_bad.jitter_pct not between 0 and 100 then
            perform kinfolk.refuse('KF001', format('jitter_pct is %s; it must be 0 to 100', v_bad.jitter_pct));
        end if;
        if v_bad.base_ms is null or v_bad.cap_ms is null or v_bad.base_ms not between 0 and 4294967295
            or v_bad.cap_ms not between 0 and least(4294967295, kinfolk.delay_max_us() / 1000)
        then
            perform kinfolk.refuse('KF001', format('a backoff of %s up to %s ms is out of range', v_bad.base_ms, v_bad.cap_ms));
        end if;
        perform kinfolk.require_policy(null, null, v_bad.statement_timeout_us);
        -- It will run with the rights of the worker, which are more than a producer's.
        if v_bad.handler is not null and not pg_has_role(session_user, 'kinfolk_operator', 'member') then
            perform kinfolk.refuse('42501', format('%I may not say which function handles command %s', session_user, v_bad.name),
                'have it registered by a member of kinfolk_operator');
        end if;
        if coalesce(v_bad.handler, '') = '' and num_nonnulls(v_bad.before, v_bad.after, v_bad.statement_timeout_us) > 0 then
            perform kinfolk.refuse('KF001', format('command %s has hooks or a statement_timeout, but no handler', v_bad.name),
                'name the handler with them');
        end if;
    end loop;

    v_changed := kinfolk.lock_declarations(p_names, p_groups);
    insert into kinfolk.queue (name)
    select distinct g.queue collate "C"
    from unnest(p_queues) g(queue)
    where not exists (select from kinfolk.queue q where q.name = g.queue)
    order by 1
    on conflict (name) do nothing;

    insert into kinfolk.command as c
        (name, queue_id, priority, max_attempts, backoff_base_ms, backoff_cap_ms, jitter_pct, timeout_us, handler,
        handler_kind, before_handler, after_handler, statement_timeout_us)
    select g.name, q.id, g.priority, g.max_attempts, g.base_ms, g.cap_ms, g.jitter_pct, g.timeout_us,
        coalesce(h.call_name, g.handler), h.kind, b.call_name, a.call_name, g.statement_timeout_us
    from (
        select distinct on (u.name collate "C") u.*
        from unnest(p_names, p_queues, p_priorities, p_max_attempts, p_base_ms, p_cap_ms, p_jitter_pct, p_timeouts_us,
                p_handlers, p_befores, p_afters, p_statement_timeouts_us)
            with ordinality as u(name, queue, priority, max_attempts, base_ms, cap_ms, jitter_pct, timeout_us, handler,
                before, after, statement_timeout_us, nth)
        order by u.name collate "C", u.nth desc
    ) g
    join kinfolk.queue q on q.name = g.queue
    cross join lateral kinfolk.find_own_handler(g.handler, false) h
    cross join lateral kinfolk.find_own_handler(g.before, true) b
    cross join lateral kinfolk.find_own_handler(g.after, true) a
    where not exists (
        select
        from kinfolk.command k
        where k.name = g.name
            and (k.queue_id, k.priority, k.max_attempts, k.backoff_base_ms, k.backoff_cap_ms, k.jitter_pct)
                = (q.id, g.priority, g.max_attempts, g.base_ms, g.cap_ms, g.jitter_pct)
            and k.timeout_us is not distinct from g.timeout_us
            and (
                g.handler is null
                or (k.handler, k.handler_kind, k.before_handler, k.after_handler, k.statement_timeout_us)
                    is not distinct from (h.call_name, h.kind, b.call_name, a.call_name, g.statement_timeout_us)))
    on conflict (name) do update set
        queue_id = excluded.queue_id,
        priority = excluded.priority,
        max_attempts = excluded.max_attempts,
        backoff_base_ms = excluded.backoff_base_ms,
        backoff_cap_ms = excluded.backoff_cap_ms,
        jitter_pct = excluded.jitter_pct,
        timeout_us = excluded.timeout_us,
        handler = case when excluded.handler is null then c.handler else nullif(excluded.handler, '') end,
        handler_kind = case when excluded.handler is null then c.handler_kind else excluded.handler_kind end,
        before_handler = case when excluded.handler is null then c.before_handler else excluded.before_handler end,
        after_handler = case when excluded.handler is null then c.after_handler else excluded.after_handler end,
        statement_timeout_us = case
            when excluded.handler is null then c.statement_timeout_us
            else excluded.statement_timeout_us
        end;
    update kinfolk.command c set handler = null where c.handler = '';
    foreach v_nth in array v_changed loop
        perform kinfolk.declare_groups((select c.id from kinfolk.command c where c.name = p_names[v_nth]), p_groups[v_nth]);
    end loop;
end
$$;
