-- Removes one page of the audit log that is past its time. Locks those rows; reads `audit_at`.

create or replace function kinfolk.prune_audit(p_now timestamptz) returns void
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
        limit kinfolk.sweep_page())
$$;
