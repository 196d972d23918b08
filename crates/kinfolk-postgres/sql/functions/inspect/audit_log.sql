-- A page of the audit log, newest first: entries with a smaller number than `p_before`, or the newest. Locks nothing; reads the
-- primary key backwards.

create or replace function kinfolk.audit_log(p_before bigint, p_page integer)
returns table (id bigint, at timestamptz, who text, what text, subject text, tasks bigint)
language sql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select a.id, a.at, a.who, a.what, a.subject, a.tasks
    from kinfolk.audit a
    where a.id < coalesce(p_before, 9223372036854775807)
    order by a.id desc
    limit least(greatest(p_page, 0), kinfolk.page_max())
$$;
