-- Sets limits of a queue, and leaves everything else as it is. Null leaves a limit as it is; -1 removes it (for
-- `depth_limit`: the deepest that families may grow at all). Refuses a missing queue.
--
-- Locks the queue's advisory lock exclusively, then takes the locks of `set_queue`.

create or replace function kinfolk.set_limits(
    queue text,
    family_limit integer default null,
    child_limit integer default null,
    depth_limit integer default null
) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_queue record;
    v_none text;
begin
    perform kinfolk.require_read_committed();
    select q.id into v_queue from kinfolk.queue q where q.name = set_limits.queue;
    if not found then
        v_queue := kinfolk.refuse_queue(set_limits.queue);
    end if;
    -- The row with that lock in hand: no other call changes limits now.
    perform pg_advisory_xact_lock(1263160902, v_queue.id);
    select q.* into v_queue from kinfolk.queue q where q.id = v_queue.id;
    -- Not performed: psql would show the statement of a refusal.
    v_none := kinfolk.set_queue(set_limits.queue, v_queue.keep_completed_us, v_queue.keep_failed_us, v_queue.keep_cancelled_us,
        nullif(coalesce(set_limits.family_limit, v_queue.family_limit), -1),
        nullif(coalesce(set_limits.child_limit, v_queue.child_limit), -1),
        nullif(coalesce(set_limits.depth_limit, v_queue.depth_limit), -1), v_queue.fair);
end
$$;
