-- All commands, as they are shown.

create or replace function kinfolk.commands()
returns table (
    name text, queue text, priority integer, max_attempts smallint, backoff_base_ms bigint, backoff_cap_ms bigint,
    jitter_pct smallint, timeout_us bigint, handler text, handler_kind text, before_handler text, after_handler text,
    statement_timeout_us bigint, groups jsonb, max_strikes smallint, envelope boolean, on_success text,
    on_error text, label text
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select c.name, q.name, c.priority, c.max_attempts, c.backoff_base_ms, c.backoff_cap_ms, c.jitter_pct, c.timeout_us,
        c.handler, c.handler_kind, c.before_handler, c.after_handler, c.statement_timeout_us,
        case when c.grouped then kinfolk.declared_groups(c.id) end, c.max_strikes, c.envelope,
        c.on_success, c.on_error, c.label
    from kinfolk.command c
    join kinfolk.queue q on q.id = c.queue_id
    order by c.name
$$;
