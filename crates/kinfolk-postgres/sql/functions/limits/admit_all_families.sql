-- Admits all families of a queue that wait for it. Locks these families exclusively, then their tasks.
create or replace function kinfolk.admit_all_families(p_queue integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_roots bigint[];
begin
    select array_agg(t.id order by t.id)
    into v_roots
    from kinfolk.task t
    where t.queue_id = p_queue
        and t.state = 'waiting'
        and t.lane = 'top';
    if v_roots is not null then
        perform kinfolk.lock_families(v_roots, true);
        perform kinfolk.admit_families(p_queue, cardinality(v_roots), kinfolk.clock());
    end if;
    -- Roots that are to begin again have their children behind the gate too.
    perform kinfolk.open_limited(array(
        select distinct t.root_id
        from kinfolk.task t
        join kinfolk.task r on r.id = t.root_id
        where t.gate = 'family'
            and r.queue_id = p_queue), kinfolk.clock());
end
$$;
