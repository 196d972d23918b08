-- Whether a task of one of these commands is running, waits, or is pending and not merely scheduled for later. Reads
-- `task_ready` and `task_suspect` by queue and lane, `task_waiting`, `task_backoff`, `task_held`, and all that runs.
create or replace function kinfolk.is_active(p_commands text[]) returns boolean
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set jit = off
as $$
begin
    return (
        with watched as materialized (
            select c.id
            from kinfolk.command c
            where c.name = any (p_commands)
        )
        select exists (select from kinfolk.open_commands(coalesce(p_commands, '{}')))
            or exists (
                select
                from watched w
                where exists (select from kinfolk.task t where t.command_id = w.id and t.state = 'waiting')
                    or exists (select from kinfolk.held_task t where t.command_id = w.id)
                    or exists (select from kinfolk.task t where t.command_id = w.id and t.gate = 'time' and t.runs > 0))
            or exists (
                select
                from kinfolk.task t
                where t.state = 'running'
                    and t.worker_id is not null
                    and t.command_id in (select w.id from watched w)));
end
$$;

-- As `is_active`, for one command.

create or replace function kinfolk.is_active(command text) returns boolean
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$ select kinfolk.is_active(array[command]) $$;
