-- Removes one page of each log that is past its time: the audit log, the error log and the minutes. Locks those rows, which no call
-- writes any more. Reads `audit_at`, `error_at` and the primary key of `minute`.

create or replace function kinfolk.prune_logs(p_now timestamptz) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    delete from kinfolk.audit a
    where a.id in (
        select o.id
        from kinfolk.audit o
        where o.at <= p_now - kinfolk.audit_kept_us() * interval '1 microsecond'
        order by o.at
        limit kinfolk.sweep_page());

    delete from kinfolk.error e
    where e.id in (
        select o.id
        from kinfolk.error o
        where o.at <= p_now - kinfolk.errors_kept_us() * interval '1 microsecond'
        order by o.at
        limit kinfolk.sweep_page());

    delete from kinfolk.minute m
    where (m.minute, m.queue_id, m.command_id) in (
        select o.minute, o.queue_id, o.command_id
        from kinfolk.minute o
        where o.minute <= p_now - kinfolk.minutes_kept_us() * interval '1 microsecond'
        order by o.minute
        limit kinfolk.sweep_page());
$$;
