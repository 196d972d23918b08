-- Carries out a registration: makes commands known, or changes their defaults. A property that is null stays as it is; a new
-- command gets the default. Queues that are missing are made.
--
-- Takes the admission locks of groups that change, then queue rows, then command rows, each in the order of their names; a
-- command that is already as asked is not locked at all. A handler that is taken away takes its hooks and its timeout along.

create or replace function kinfolk.keep_commands(p_asked kinfolk.registration) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_changed integer[];
    v_nth integer;
begin
    perform kinfolk.require_commands(p_asked);
    v_changed := kinfolk.lock_declarations(p_asked.names, coalesce(p_asked.groups, '{}'));
    insert into kinfolk.queue (name)
    select distinct coalesce(g.queue, 'default') collate "C"
    from unnest(p_asked.names, p_asked.queues) g(name, queue)
    where not exists (select from kinfolk.queue q where q.name = coalesce(g.queue, 'default'))
        and (g.queue is not null or not exists (select from kinfolk.command c where c.name = g.name))
    order by 1
    on conflict (name) do nothing;

    insert into kinfolk.command as c
        (name, queue_id, priority, max_attempts, backoff_base_ms, backoff_cap_ms, jitter_pct, timeout_us, handler,
        handler_kind, before_handler, after_handler, statement_timeout_us, max_strikes, envelope,
        on_success, on_error, label)
    select g.name, coalesce(g.queue_id, o.queue_id, (select q.id from kinfolk.queue q where q.name = 'default')),
        coalesce(g.priority, 0), nullif(g.max_attempts, 0), coalesce(g.base_ms, 1000), coalesce(g.cap_ms, 3600000),
        coalesce(g.jitter_pct, 10), nullif(g.timeout_us, 0), nullif(g.handler, ''), g.kind, nullif(g.before, ''),
        nullif(g.after, ''), nullif(g.statement_timeout_us, 0), coalesce(g.max_strikes, 20), coalesce(g.envelope, true),
        nullif(g.on_success, ''), nullif(g.on_error, ''), nullif(g.label, '')
    from kinfolk.asked_commands(p_asked) g
    left join kinfolk.command o on o.name = g.name
    where o.id is null
        or kinfolk.changed_command(o, g) is distinct from o
    order by g.name collate "C"
    on conflict (name) do update set
        (queue_id, priority, max_attempts, backoff_base_ms, backoff_cap_ms, jitter_pct, timeout_us, handler, handler_kind,
            before_handler, after_handler, statement_timeout_us, max_strikes, envelope,
            on_success, on_error, label) = (
            select n.queue_id, n.priority, n.max_attempts, n.backoff_base_ms, n.backoff_cap_ms, n.jitter_pct, n.timeout_us,
                n.handler, n.handler_kind, n.before_handler, n.after_handler, n.statement_timeout_us, n.max_strikes,
                n.envelope, n.on_success, n.on_error, n.label
            from kinfolk.asked_commands(p_asked) g
            cross join lateral kinfolk.changed_command(c, g) n
            where g.name = excluded.name);
    foreach v_nth in array v_changed loop
        perform kinfolk.declare_groups((select c.id from kinfolk.command c where c.name = p_asked.names[v_nth]),
            p_asked.groups[v_nth]);
    end loop;
end
$$;
