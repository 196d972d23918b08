-- The states in which there are more tasks than `count_tasks` looks at. Locks nothing; reads as far as that does.

create or replace function kinfolk.more_than_counted() returns text[]
language sql stable
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
    select array(
        select 'completed'
        where exists (select from kinfolk.task t order by t.id desc offset kinfolk.look_max() limit 1)
        union all
        select 'failed'
        where exists (
            select
            from kinfolk.task t
            where t.state = 'failed' and t.state in ('failed', 'cancelled')
            order by t.finished_at desc, t.id desc
            offset kinfolk.look_max()
            limit 1)
        union all
        select 'cancelled'
        where exists (
            select
            from kinfolk.task t
            where t.state = 'cancelled' and t.state in ('failed', 'cancelled')
            order by t.finished_at desc, t.id desc
            offset kinfolk.look_max()
            limit 1))
$$;
