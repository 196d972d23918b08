-- Stores the ready key behind which the next claim of this worker goes on: the last of these, or none. If another claim of
-- the worker has locked that row, nothing is stored and the answer is no.
create or replace function kinfolk.go_on_behind(
    p_worker uuid, p_queue integer, p_ready kinfolk.claim_ready
) returns boolean
language plpgsql volatile
as $$
declare
    v_last integer := cardinality(p_ready.commands);
begin
    perform
    from kinfolk.worker_queue wq
    where wq.queue_id = p_queue
        and wq.worker_id = p_worker
    for no key update skip locked;
    if not found then
        return false;
    end if;
    update kinfolk.worker_queue wq
    set
        cursor_command = p_ready.commands[v_last],
        cursor_group = p_ready.groups[v_last],
        cursor_key = p_ready.keys[v_last]
    where wq.queue_id = p_queue
        and wq.worker_id = p_worker;
    return true;
end
$$;
