-- Admits repaired families whose root waits in the lane `top`, as many as there is room for, in the order of the claim. The
-- root goes to the lane `root`, and the tasks of the family behind the gate `limit` are opened, on every queue. Reads
-- `task_revived` and `task_limited`.
--
-- Locks the roots, and their families exclusively, never waiting: a family in which another call works is left for later.
create or replace function kinfolk.admit_families(
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
