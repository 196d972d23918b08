-- The holders of the horizon, which keep dead rows of this database from being removed: sessions, prepared transactions and
-- replication slots, the one that is furthest back first. `behind`: so many transactions have begun since. `remedy`: what to
-- type to end it.
--
-- One that has written but holds no snapshot now (idle in transaction) has a number of its own, and holds the horizon by that.
-- Sessions on other databases don't, nor does a vacuum, and an autovacuum that analyses ends by itself; a standby's feedback is of no
-- database. The statement of a session is not told: there may be secrets in it. Locks nothing, reads no table.

create or replace function kinfolk.horizon_holders()
returns table (who text, behind integer, lasting interval, remedy text)
language sql stable
set search_path = pg_catalog, pg_temp
as $$
    with holder as (
        select concat_ws(', ', format('process %s of %s', a.pid, coalesce(a.usename, '?')),
                'application ' || nullif(a.application_name, ''), 'from ' || host(a.client_addr),
                coalesce(a.state, a.backend_type),
                'in a transaction for ' || kinfolk.whole_seconds(clock_timestamp() - a.xact_start),
                'its last statement began ' || kinfolk.whole_seconds(clock_timestamp() - a.query_start) || ' ago') as who,
            greatest(age(a.backend_xmin), age(a.backend_xid)) as behind, clock_timestamp() - a.xact_start as lasting,
            format('select pg_terminate_backend(%s)', a.pid) as remedy
        from pg_stat_activity a
        where (a.backend_xmin is not null or a.backend_xid is not null)
            and (a.datname = current_database() or a.datname is null)
            and a.pid <> pg_backend_pid()
            and a.backend_type <> 'autovacuum worker'
            and not exists (select from pg_stat_progress_vacuum v where v.pid = a.pid)
        union all
        select format('prepared transaction %L of %s, since %s', x.gid, x.owner, date_trunc('second', x.prepared)),
            age(x.transaction), clock_timestamp() - x.prepared, format('rollback prepared %L', x.gid)
        from pg_prepared_xacts x
        where x.database = current_database()
        union all
        select concat_ws(', ', format('replication slot %s', s.slot_name), case when not s.active then 'which nobody reads' end),
            greatest(age(s.xmin), age(s.catalog_xmin)), null, format('select pg_drop_replication_slot(%L)', s.slot_name)
        from pg_replication_slots s
        where (s.xmin is not null or s.catalog_xmin is not null)
            and (s.database = current_database() or s.database is null)
    )
    select h.who, h.behind, h.lasting, h.remedy from holder h order by h.behind desc
$$;
