-- A page of the error log, newest first: entries with a smaller number than `p_before`, or the newest. Locks nothing; reads the
-- primary key backwards.

create or replace function kinfolk.errors(p_before bigint, p_page integer) returns setof kinfolk.errors
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select e.*
    from kinfolk.errors e
    where e.id < coalesce(p_before, 9223372036854775807)
    order by e.id desc
    limit least(greatest(p_page, 0), kinfolk.page_max())
$$;
