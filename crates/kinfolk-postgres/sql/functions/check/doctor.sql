-- Looks for trouble around the store: one row for each thing looked at. `p_caller_now`: the caller's own clock. Locks
-- nothing. Waiting tasks are looked up in `task_ready`, `task_suspect`, `task_due` up to now, and `task_held`.

create or replace function kinfolk.doctor(p_caller_now timestamptz)
returns table (subject text, health text, found text, remedy text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
begin
    if not coalesce(isfinite(p_caller_now), false) then
        raise exception using errcode = 'KF001', message = format('p_caller_now is %s', coalesce(p_caller_now::text, 'null')),
            hint = 'give the time by your own clock';
    end if;
    return query
    select 'schema', 'good', format('version %s, PostgreSQL %s', kinfolk.schema_version(), current_setting('server_version')), '';

    return query
    select 'writes', case when w.why is null then 'good' else 'bad' end, coalesce(w.why, 'the database takes writes'),
        case when w.why is null then '' else 'connect to the primary, or allow writes again: nothing can be enqueued or recorded here' end
    from (
        select case
            when pg_is_in_recovery() then 'this server is a standby and takes no writes'
            when current_setting('transaction_read_only') = 'on' then 'transactions are read-only here (default_transaction_read_only)'
        end as why
    ) w;

    return query
    select 'clock', case when s.skew > interval '30 seconds' then 'bad' when s.skew > interval '2 seconds' then 'warning' else 'good' end,
        format('the caller''s clock is %s s off the database''s', round(extract(epoch from s.skew), 3)),
        case when s.skew > interval '2 seconds' then 'synchronise the clocks (NTP); the engine itself only uses the database''s' else '' end
    from (
        select case when p_caller_now > clock_timestamp() then p_caller_now - clock_timestamp() else clock_timestamp() - p_caller_now end as skew
    ) s;

    return query
    select 'connections', case when c.used > 0.9 * c.most then 'bad' when c.used > 0.75 * c.most then 'warning' else 'good' end,
        format('%s of %s in use', c.used, c.most),
        case when c.used > 0.75 * c.most then 'raise max_connections, lower pool sizes, or put a pooler in between' else '' end
    from (
        select (select count(*) from pg_stat_activity a where a.backend_type = 'client backend') as used,
            current_setting('max_connections')::integer as most
    ) c;

    return query
    -- Each task that is worked meanwhile leaves dead rows in the way of the calls after it: a minute is long on a busy queue.
    with judged as (
        select o.*,
            case
                when o.lasting > interval '1 hour' or o.behind > 10000000 then 'bad'
                when o.lasting > interval '1 minute' or o.behind > 20000 then 'warning'
                else 'good'
            end as health
        from (select 1) one
        left join (select h.* from kinfolk.horizon_holders() h limit 1) o on true
    )
    select 'horizon', j.health,
        case when j.who is null then 'held by nobody' else format('held by %s, %s transactions back', j.who, j.behind) end,
        case
            when j.health = 'good' then ''
            else format('end it (%s): while it lasts, dead rows can''t be removed, and claims slow down', j.remedy)
        end
    from judged j;

    return query
    select 'dead rows', case when d.dead > 1000000 and d.dead > d.live then 'warning' else 'good' end,
        format('%s dead beside %s live rows in kinfolk.task', d.dead, d.live),
        case when d.dead > 1000000 and d.dead > d.live then 'let autovacuum run more often on kinfolk.task, and see to the horizon' else '' end
    from (
        select coalesce(sum(s.n_dead_tup), 0) as dead, coalesce(sum(s.n_live_tup), 0) as live
        from pg_stat_user_tables s
        where s.schemaname = 'kinfolk'
            and s.relname = 'task'
    ) d;

    return query
    select 'workers', case when w.late > 0 then 'warning' else 'good' end,
        format('%s with a live lease, %s past it', w.live, w.late),
        case when w.late > 0 then 'a live worker takes care of their tasks by itself; start one if there is none' else '' end
    from (
        select count(*) filter (where w.lease_until >= kinfolk.clock()) as live,
            count(*) filter (where w.lease_until < kinfolk.clock()) as late
        from kinfolk.worker w
    ) w;

    return query
    -- What would be claimed, what a claim would open first, and what is lined up behind a key.
    with kinds as (
        select c.id as command_id, q.id as queue_id
        from kinfolk.command c
        cross join kinfolk.queue q
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        where exists (
                select
                from kinfolk.task t
                where t.queue_id = q.id
                    and t.lane = l.lane
                    and t.command_id = c.id
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and not t.suspect)
            or exists (
                select
                from kinfolk.task t
                where t.queue_id = q.id
                    and t.lane = l.lane
                    and t.command_id = c.id
                    and t.state = 'pending'
                    and t.gate = 'open'
                    and t.suspect)
        union
        select t.command_id, t.queue_id
        from kinfolk.queue q
        join kinfolk.task t on t.queue_id = q.id
        where t.gate = 'time'
            and t.due <= kinfolk.clock()
        union
        select t.command_id, t.queue_id
        from kinfolk.task t
        where t.gate in ('limit', 'after')
            and t.gate = 'limit'
            and t.state = 'pending'
    ),
    waiting as (
        select c.name as command, q.name as queue
        from kinds k
        join kinfolk.command c on c.id = k.command_id
        join kinfolk.queue q on q.id = k.queue_id
        where not exists (
                select
                from kinfolk.worker w
                where w.lease_until >= kinfolk.clock()
                    and c.name = any (w.commands)
                    and q.name = any (w.queues))
    )
    select 'handlers', case when count(*) > 0 then 'warning' else 'good' end,
        case
            when count(*) > 0 then 'nobody handles ' || string_agg(format('%s on %s', w.command, w.queue), ', ' order by w.command, w.queue)
            else 'every waiting task has a worker that handles it'
        end,
        case when count(*) > 0 then 'start a worker that has handlers for these commands on these queues' else '' end
    from waiting w;

    return query
    select * from kinfolk.doctor_suspects();

    return query
    select * from kinfolk.doctor_schedules();

    return query
    select * from kinfolk.doctor_modules();

    return query
    select 'notifications', case when pg_notification_queue_usage() > 0.5 then 'bad' when pg_notification_queue_usage() > 0.1 then 'warning' else 'good' end,
        format('the queue is %s %% full', round((pg_notification_queue_usage() * 100)::numeric, 1)),
        case when pg_notification_queue_usage() > 0.1 then 'find the listener that does not read (an idle transaction after LISTEN) and end it' else '' end;

    return query
    select 'setting ' || s.name, case s.name when 'synchronous_commit' then 'warning' else 'bad' end,
        format('%s is off', s.name), 'switch it on: an acknowledged task may be lost in a crash'
    from pg_settings s
    where s.name in ('fsync', 'full_page_writes', 'synchronous_commit')
        and s.setting = 'off';
end
$$;
