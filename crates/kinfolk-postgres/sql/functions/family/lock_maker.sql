-- Locks the family of a task whose handler made something: shared, or whole where the task was suspended before. Answers its root,
-- the root's place in line, how deep the family may grow, and whether the task was suspended before (`parked`; `parked_in`: its root
-- then).
create or replace function kinfolk.lock_maker(
    p_task bigint, out id bigint, out place timestamptz, out depth_limit integer, out parked boolean, out parked_in bigint[]
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
#variable_conflict use_column
begin
    select r.id, r.place, least(q.depth_limit, kinfolk.depth_max()), t.parked, case when t.parked then array[r.id] end
    into id, place, depth_limit, parked, parked_in
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    join kinfolk.queue q on q.id = r.queue_id
    where t.id = p_task;
    perform kinfolk.lock_families(array[lock_maker.id], lock_maker.parked);
end
$$;
