-- The pending tasks of queues and of a command (null: of all), at most so many. The index of held tasks has the command first, so
-- held tasks of other queues may be among them: no more than the limit is read.
-- Reads `task_ready`, `task_suspect`, `task_later` and `task_held`.

create or replace function kinfolk.pending_of(p_queues integer[], p_command integer, p_page integer) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set jit = off
as $$
begin
    return array(
        select p.id
        from (
            select o.id
            from unnest(p_queues) as q(id)
            cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
            cross join lateral (
                select t.id
                from kinfolk.any_open t
                where t.queue_id = q.id and t.lane = l.lane and (p_command is null or t.command_id = p_command)
                limit p_page
            ) o
            union all
            select d.id
            from unnest(p_queues) as q(id)
            cross join lateral (
                select t.id
                from kinfolk.task t
                where t.queue_id = q.id and (p_command is null or t.command_id = p_command)
                    and t.gate = 'time' and t.state = 'pending'
                limit p_page
            ) d
            union all
            select t.id
            from kinfolk.held_task t
            where p_command is null or t.command_id = p_command
        ) p
        limit p_page);
end
$$;
