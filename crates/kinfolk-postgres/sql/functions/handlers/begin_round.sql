-- Registers the worker of a round of `process_tasks`. Answers the commands that have a handler in the database: the
-- round runs their tasks. On a queue with limits or a fair key takes the queue's admission lock, and raises 55P03 at once if another
-- call has it.
create or replace function kinfolk.begin_round(p_worker uuid, p_queue text) returns text[]
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_commands text[] := array(select c.name from kinfolk.command c where coalesce(c.handler_kind <> 'built_in' or c.handler = 'db_function', false) order by c.name);
    v_queue record;
begin
    if p_worker is null then
        raise exception using errcode = 'KF001', message = 'p_worker is null',
            hint = 'give an id of its own';
    end if;
    select q.id, q.family_limit is not null or q.child_limit is not null or q.fair is not null as is_limited
    into v_queue
    from kinfolk.queue q
    where q.name = p_queue;
    if not found then
        perform kinfolk.refuse_queue(p_queue);
    elsif v_queue.is_limited and not pg_try_advisory_xact_lock(1263160904, v_queue.id) then
        -- A claim would wait a moment for it, and then take nothing.
        raise lock_not_available;
    end if;
    perform kinfolk.register_worker(p_worker, 'process_tasks', array[p_queue], v_commands, kinfolk.lease_max_us());
    return v_commands;
end
$$;
