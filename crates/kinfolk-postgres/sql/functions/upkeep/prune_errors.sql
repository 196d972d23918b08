-- Removes one page of the error log that is past its time. Locks those rows; reads `error_at`.

create or replace function kinfolk.prune_errors(p_now timestamptz) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    delete from kinfolk.error e
    where e.id in (
        select o.id
        from kinfolk.error o
        where o.at <= p_now - kinfolk.errors_kept_us() * interval '1 microsecond'
        order by o.at
        limit kinfolk.sweep_page())
$$;
