-- A page of the error log, newest first: entries with a smaller number than `p_before`, or the newest, of a task, a command, a queue, as
-- far as these are given. Locks nothing; reads the primary key backwards, `error_task`, or for each command and queue that is meant
-- `error_kind`: a page of each holds the page of all.

create or replace function kinfolk.errors(
    p_before bigint, p_page integer, p_task bigint default null, p_command text default null, p_queue text default null
) returns setof kinfolk.errors
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_before bigint := coalesce(p_before, 9223372036854775807);
    v_page integer := least(greatest(p_page, 0), kinfolk.page_max());
begin
    if p_task is not null then
        return query
        select e.*
        from kinfolk.errors e
        where e.task = p_task
            and e.id < v_before
            and (p_command is null or e.command = p_command)
            and (p_queue is null or e.queue = p_queue)
        order by e.id desc
        limit v_page;
    elsif num_nonnulls(p_command, p_queue) = 0 then
        return query
        select e.*
        from kinfolk.errors e
        where e.id < v_before
        order by e.id desc
        limit v_page;
    else
        return query
        select e.*
        from kinfolk.queue q
        cross join kinfolk.command c
        cross join lateral (
            select k.id
            from kinfolk.error k
            where k.queue_id = q.id
                and k.command_id = c.id
                and k.id < v_before
            order by k.id desc
            limit v_page
        ) k
        join kinfolk.errors e on e.id = k.id
        where (p_queue is null or q.name = p_queue)
            and (p_command is null or c.name = p_command)
        order by e.id desc
        limit v_page;
    end if;
end
$$;
