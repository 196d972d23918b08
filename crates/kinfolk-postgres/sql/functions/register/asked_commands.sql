-- The commands of a registration, one row each; of a name that is given twice the last one counts. The queue by its number,
-- the handler and its hooks by the names to call them by. Null is what is not said; '' takes a function away, 0 a timeout or the attempts.

create or replace function kinfolk.asked_commands(p_asked kinfolk.registration)
returns table (
    name text, queue_id integer, priority integer, max_attempts integer, base_ms bigint, cap_ms bigint, jitter_pct integer,
    timeout_us bigint, handler text, kind text, before text, after text, statement_timeout_us bigint, max_strikes integer,
    envelope boolean, on_success text, on_error text, label text
)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    select g.name, q.id, g.priority, g.max_attempts, g.base_ms, g.cap_ms, g.jitter_pct, g.timeout_us,
        coalesce(h.call_name, g.handler), h.kind, coalesce(b.call_name, g.before), coalesce(a.call_name, g.after),
        g.statement_timeout_us, g.max_strikes, g.envelope,
        coalesce(s.call_name, g.on_success), coalesce(e.call_name, g.on_error), g.label
    from (
        select distinct on (u.name collate "C") u.*
        from unnest(p_asked.names, p_asked.queues, p_asked.priorities, p_asked.max_attempts, p_asked.base_ms, p_asked.cap_ms,
                p_asked.jitter_pct, p_asked.timeouts_us, p_asked.handlers, p_asked.befores, p_asked.afters,
                p_asked.statement_timeouts_us, p_asked.max_strikes, p_asked.envelopes, p_asked.on_successes, p_asked.on_errors,
                p_asked.labels)
            with ordinality as u(name, queue, priority, max_attempts, base_ms, cap_ms, jitter_pct, timeout_us, handler,
                before, after, statement_timeout_us, max_strikes, envelope, on_success, on_error, label, nth)
        order by u.name collate "C", u.nth desc
    ) g
    left join kinfolk.queue q on q.name = g.queue
    cross join lateral kinfolk.find_own_handler(p_asked.caller, g.handler, false) h
    cross join lateral kinfolk.find_own_handler(p_asked.caller, g.before, true) b
    cross join lateral kinfolk.find_own_handler(p_asked.caller, g.after, true) a
    cross join lateral kinfolk.find_own_handler(p_asked.caller, g.on_success, true) s
    cross join lateral kinfolk.find_own_handler(p_asked.caller, g.on_error, true) e
$$;
