-- Lets families in again that were repaired and whose root waits in the lane `top`, as many as there is room for, in the
-- order of the claim: the root goes to the lane `root`, and what waits behind the gate `limit` is opened, on whatever
-- queue. Reads `task_revived` and `task_limited`.
--
-- Locks the roots, and their families whole, never waiting: where someone is at work in a family, it is left for later.
create or replace function kinfolk.admit(
    p_queue integer, p_room integer, p_now timestamptz, out admitted integer, out left_out boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_root bigint;
begin
    admitted := 0;
    left_out := false;
    for v_root in
        select t.id
        from kinfolk.task t
        where t.queue_id = p_queue
            and t.state = 'waiting'
            and t.lane = 'top'
        order by t.priority, t.position, t.id
        limit p_room
        for update skip locked
    loop
        if not kinfolk.try_lock_family(v_root) then
            left_out := true;
            continue;
        end if;
        admitted := admitted + 1;
        update kinfolk.task t set lane = 'root' where t.id = v_root;
        perform kinfolk.open_limited(array[v_root], p_now);
    end loop;
end
$$;
