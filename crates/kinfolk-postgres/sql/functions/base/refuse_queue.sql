-- Raises that there is no such queue, and says which there are.

create or replace function kinfolk.refuse_queue(p_queue text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_queue is null then
        raise exception using errcode = 'KF001', message = 'queue is null', hint = 'give the name of a queue';
    end if;
    raise exception using
        errcode = 'KF002',
        message = format('there is no queue %s', p_queue),
        hint = format('there are: %s', coalesce((
            select string_agg(q.name, ', ' order by q.name)
            from (select q.name from kinfolk.queue q order by q.name limit 20) q), 'none; register a command on one')),
        detail = 'queue';
end
$$;
