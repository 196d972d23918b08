-- Removes the descendants of a root that the caller has locked, those of the deepest generation first, and the root as the
-- last, at most so many tasks. Answers how many went.
create or replace function kinfolk.remove_family(p_root bigint, p_most integer) returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_fan_out record;
    v_ids bigint[];
    v_gone bigint := 0;
begin
    for v_fan_out in
        select f.id
        from kinfolk.fan_out f
        where f.root_id = p_root
        order by f.depth desc, f.id desc
        limit p_most
    loop
        v_ids := array(
            select t.id
            from kinfolk.task t
            where t.fan_out_id = v_fan_out.id
                and not exists (select from kinfolk.duplicate d where d.task_id = t.id)
            order by t.nth desc
            limit p_most - v_gone);
        delete from kinfolk.ended_page p where p.fan_out_id = v_fan_out.id;
        -- What is left of it is counted, so that the numbers stay true.
        update kinfolk.fan_out f
        set
            total = f.total - n.total,
            completed = f.completed - n.completed,
            failed = f.failed - n.failed,
            cancelled = f.cancelled - n.cancelled
        from (
            select count(*) as total,
                count(*) filter (where t.state = 'completed') as completed,
                count(*) filter (where t.state = 'failed') as failed,
                count(*) filter (where t.state = 'cancelled') as cancelled
            from kinfolk.task t
            where t.id = any (v_ids)
        ) n
        where f.id = v_fan_out.id;
        v_gone := v_gone + kinfolk.remove_tasks(v_ids);
        delete from kinfolk.fan_out f where f.id = v_fan_out.id and f.total = 0;
        if v_gone >= p_most then
            return v_gone;
        end if;
    end loop;
    if exists (select from kinfolk.fan_out f where f.root_id = p_root) then
        return v_gone;
    end if;
    return v_gone + kinfolk.remove_tasks(array[p_root]);
end
$$;
