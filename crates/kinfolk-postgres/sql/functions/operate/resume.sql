-- Lets claims take from a queue again. A queue that is not there is refused. Locks the queue's row.
create or replace function kinfolk.resume(p_queue text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_queue integer;
    v_none text;
begin
    perform kinfolk.require_read_committed();
    update kinfolk.queue q set paused_at = null, paused_by = null where q.name = p_queue returning q.id into v_queue;
    if not found then
        v_none := kinfolk.refuse_queue(p_queue);
    end if;
    perform kinfolk.notify_queues(array[v_queue], false);
end
$$;
