-- Writes the final states of these roots into the entries of the follow-ups that wait for them, and wakes the queues of those
-- follow-ups. A claim there opens or cancels them. Locks the entries in the order of the primary key.
create or replace function kinfolk.root_ended(p_roots bigint[], p_states kinfolk.state[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queues integer[];
begin
    perform
    from kinfolk.follow_up f
    where f.root_id = any (p_roots)
    order by f.task_id, f.root_id
    for update;
    if not found then
        return;
    end if;
    with updated as (
        update kinfolk.follow_up f
        set ended = e.state
        from unnest(p_roots, p_states) as e(root_id, state)
        where f.root_id = e.root_id
        returning f.queue_id
    )
    select array_agg(distinct m.queue_id) into v_queues from updated m;
    perform kinfolk.notify_queues(v_queues, false);
end
$$;
