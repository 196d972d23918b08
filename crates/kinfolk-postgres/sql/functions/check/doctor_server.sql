-- The findings of `doctor` about the server: whether it takes writes, its clock beside the caller's, its connections, its
-- queue of notifications, and settings that lose commits. Locks nothing, reads no table of ours.

create or replace function kinfolk.doctor_server(p_caller_now timestamptz)
returns table (subject text, health text, found text, remedy text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
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
