-- Locks the family of a task exclusively, and says whether there is such a task. Locks the queue of the root first, against a
-- change of its limits.
create or replace function kinfolk.lock_family_of(p_task bigint) returns boolean
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_root record;
begin
    select r.id, r.queue_id
    into v_root
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    where t.id = p_task;
    if not found then
        return false;
    end if;
    perform pg_advisory_xact_lock_shared(1263160902, v_root.queue_id);
    perform kinfolk.lock_families(array[v_root.id], true);
    return true;
end
$$;
