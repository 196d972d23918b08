-- Locks the first open suspect of a queue for a worker that runs none; null when there is none, or it runs one, or
-- another claim or heartbeat of the same worker is at work right now (it is tried again). Reads `task_suspect`.
-- Suspects that stand behind a full batch are not looked at.

create or replace function kinfolk.pick_suspect(
    p_worker uuid, p_queue integer, p_commands text[], p_picked bigint[], p_limit integer
) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_suspect bigint;
begin
    -- Two claims of one worker must not take a suspect each.
    perform from kinfolk.worker w where w.id = p_worker for no key update skip locked;
    if not found then
        return null;
    end if;
    if exists (
        select
        from kinfolk.task t
        where t.worker_id = p_worker
            and t.state = 'running'
            and t.suspect)
    then
        return null;
    end if;

    select s.id
    into v_suspect
    from kinfolk.command c
    cross join unnest(enum_range(null::kinfolk.lane)) as l(lane)
    cross join lateral (
        select t.id, t.priority, t.place
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.lane = l.lane
            and t.command_id = c.id
            and t.state = 'pending'
            and t.gate = 'open'
            and t.suspect
        order by t.priority, t.place, t.id
        limit 1
        for update skip locked
    ) s
    where c.name = any (p_commands)
    order by s.priority, s.place, s.id
    limit 1;
    return v_suspect;
end
$$;
