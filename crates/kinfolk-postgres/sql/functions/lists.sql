-- What there is beside tasks, as it is shown.

create or replace function kinfolk.queues()
returns table (
    name text, paused_at timestamptz, keep_completed_us bigint, keep_failed_us bigint, keep_cancelled_us bigint,
    family_limit integer, child_limit integer, depth_limit smallint, paused_by text,
    fair text
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select q.name, q.paused_at, q.keep_completed_us, q.keep_failed_us, q.keep_cancelled_us, q.family_limit, q.child_limit,
        q.depth_limit, q.paused_by, q.fair
    from kinfolk.queue q
    order by q.name
$$;

create or replace function kinfolk.commands()
returns table (
    name text, queue text, priority integer, max_attempts smallint, backoff_base_ms bigint, backoff_cap_ms bigint,
    jitter_pct smallint, timeout_us bigint, handler text, handler_kind text, before_handler text, after_handler text,
    statement_timeout_us bigint, groups jsonb, max_strikes smallint, envelope boolean, on_success text,
    on_error text
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select c.name, q.name, c.priority, c.max_attempts, c.backoff_base_ms, c.backoff_cap_ms, c.jitter_pct, c.timeout_us,
        c.handler, c.handler_kind, c.before_handler, c.after_handler, c.statement_timeout_us,
        case when c.grouped then kinfolk.declared_groups(c.id) end, c.max_strikes, c.envelope,
        c.on_success, c.on_error
    from kinfolk.command c
    join kinfolk.queue q on q.id = c.queue_id
    order by c.name
$$;

create or replace function kinfolk.workers()
returns table (
    id uuid, name text, queues text[], commands text[], started_at timestamptz, lease_until timestamptz, running bigint
)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
    select w.id, w.name, w.queues, w.commands, w.started_at, w.lease_until,
        (select count(*) from kinfolk.task t where t.worker_id = w.id and t.state = 'running')
    from kinfolk.worker w
    order by w.started_at, w.id
$$;

create or replace function kinfolk.schedules() returns setof kinfolk.schedule
language sql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$ select s.* from kinfolk.schedule s order by s.name $$;
