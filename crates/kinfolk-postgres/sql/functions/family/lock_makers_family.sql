-- Locks the family of a maker before any row: shared, or exclusively if the task was suspended before, so that no child of it
-- ends meanwhile. Then locks the unique keys of its follow-ups. Returns the task, which is not locked yet (`lock_makers_task`).

create or replace function kinfolk.lock_makers_family(p_task bigint, p_token uuid, p_made kinfolk.given_tasks)
returns kinfolk.maker
language plpgsql volatile
as $$
declare
    v_maker kinfolk.maker;
begin
    v_maker.task_id := p_task;
    v_maker.token := p_token;
    select r.id, r.position, least(q.depth_limit, kinfolk.depth_max()), t.was_suspended
    into v_maker.root_id, v_maker.position, v_maker.depth_limit, v_maker.was_suspended
    from kinfolk.task t
    join kinfolk.task r on r.id = coalesce(t.root_id, t.id)
    join kinfolk.queue q on q.id = r.queue_id
    where t.id = p_task;
    perform kinfolk.lock_families(array[v_maker.root_id], v_maker.was_suspended);
    if cardinality(p_made.kinds) > 0 then
        perform kinfolk.lock_follow_up_keys(p_made.kinds, p_made.commands, p_made.keys);
    end if;
    return v_maker;
end
$$;
