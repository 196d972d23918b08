-- Whether a claim of this worker may take a suspect in its turn: one of these commands has a waiting suspect, the claim has
-- taken none, and the worker runs none.
--
-- Reads `task_turn`; locks the worker's row, never waiting.
create or replace function kinfolk.may_take_suspect(
    p_worker uuid, p_queue integer, p_commands integer[], p_lanes kinfolk.lane[], p_taken bigint[]
) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform
    from unnest(p_commands) as c(id)
    cross join unnest(p_lanes) as l(lane)
    cross join lateral (
        select
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.command_id = c.id
            and t.lane = l.lane
            and t.suspect
            and t.gate = 'turn'
        limit 1
    ) t
    limit 1;
    return found
        and not exists (select from kinfolk.task t where t.id = any (p_taken) and t.suspect)
        and kinfolk.may_run_suspect(p_worker);
end
$$;
