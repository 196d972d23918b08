-- The lanes of a queue that a claim may take from, and how many tasks of each: as many as it likes, unless the queue has
-- limits. Where families have a limit and there is room, repaired families that wait for admission go first. `left_out`:
-- another call had locked a needed row, and a second look is worth it.
--
-- The caller holds the queue's admission lock if it has limits, so the counts stay true until it commits. Counts by
-- `task_at_work` and `task_child_slot`, no further than the limit.

create or replace function kinfolk.lane_rooms(
    p_queue integer, p_family_limit integer, p_child_limit integer, p_limit integer, p_now timestamptz,
    out lanes kinfolk.lane[], out rooms integer[], out left_out boolean
)
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_families integer := p_limit;
    v_children integer := p_limit;
    v_admitted integer;
begin
    left_out := false;
    if p_family_limit is not null then
        select p_family_limit - count(*)
        into v_families
        from (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.lane = 'root'
                and t.finished_at is null
            limit p_family_limit
        ) at_work;
        if v_families > 0 then
            select a.admitted, a.left_out into v_admitted, left_out from kinfolk.admit_families(p_queue, v_families, p_now) a;
            v_families := least(v_families - v_admitted, p_limit);
        end if;
    end if;
    if p_child_limit is not null then
        select least(p_child_limit - count(*), p_limit)
        into v_children
        from (
            select
            from kinfolk.task t
            where t.queue_id = p_queue
                and t.child_slot
            limit p_child_limit
        ) running;
    end if;
    select array_agg(r.lane), array_agg(r.room)
    into lanes, rooms
    from (values ('top'::kinfolk.lane, v_families), ('root', p_limit), ('child', v_children)) as r(lane, room)
    where r.room > 0;
end
$$;
