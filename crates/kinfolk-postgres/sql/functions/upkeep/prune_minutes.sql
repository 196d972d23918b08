-- Removes one page of the minutes that are past their time. Locks those rows, which nobody writes any more; reads the primary key.

create or replace function kinfolk.prune_minutes(p_now timestamptz) returns void
language sql volatile security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    delete from kinfolk.minute m
    where (m.minute, m.queue_id, m.command_id) in (
        select o.minute, o.queue_id, o.command_id
        from kinfolk.minute o
        where o.minute <= p_now - kinfolk.minutes_kept_us() * interval '1 microsecond'
        order by o.minute
        limit kinfolk.sweep_page())
$$;
