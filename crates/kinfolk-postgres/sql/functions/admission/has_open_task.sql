-- Whether one of these commands has an open task on a queue. Reads the heads of their lines.
create or replace function kinfolk.has_open_task(p_queue integer, p_commands text[]) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
        select
        from kinfolk.command c
        cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
        cross join lateral (
            select
            from kinfolk.open_task t
            where t.queue_id = p_queue
                and t.lane = l.lane
                and t.command_id = c.id
            limit 1
        ) t
        where c.name = any (p_commands));
end
$$;
