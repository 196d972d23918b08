-- Stops claims on a queue. When this commits, no claim that has not committed before takes anything: claims hold the
-- queue's advisory lock in shared mode, this takes it whole. `p_by`: who asks, if they say so; the first pause counts. A queue
-- that is not there is refused.

create or replace function kinfolk.pause(p_queue text, p_by text default current_user) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_queue integer;
    v_none text;
begin
    perform kinfolk.require_read_committed();
    select q.id into v_queue from kinfolk.queue q where q.name = p_queue;
    if not found then
        v_none := kinfolk.refuse_queue(p_queue);
    end if;
    perform pg_advisory_xact_lock(1263160902, v_queue);
    update kinfolk.queue q
    set
        paused_at = kinfolk.clock(),
        paused_by = p_by
    where q.id = v_queue
        and q.paused_at is null;
end
$$;
