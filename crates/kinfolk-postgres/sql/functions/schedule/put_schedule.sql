-- Makes or changes a schedule, armed by the caller. The record of its earlier ticks is kept. Answers it as it is then,
-- or nothing when its command is unknown; one that names a queue or a group that is not there is refused, for its ticks
-- would make no task. `p_task`: the task that each tick enqueues. Locks the schedule.

create or replace function kinfolk.put_schedule(
    p_name text, p_cron text, p_zone text, p_missed text, p_overlap text, p_paused boolean, p_next_at timestamptz,
    p_task kinfolk.given_task
) returns setof kinfolk.schedule
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_new kinfolk.schedule := row(p_name, p_cron, p_zone, p_missed, p_overlap, p_paused, p_next_at, null, null, (p_task).*, null);
begin
    perform kinfolk.require_schedule(v_new);
    return query select s.* from kinfolk.keep_schedule(v_new) s;
end
$$;
