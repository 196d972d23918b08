-- Ends the attempt of a task, which the caller has locked, whose own work is done and whose children are open: it gives its slots
-- back, and ends with the last child.
create or replace function kinfolk.wait_for_children(p_maker kinfolk.maker, p_result jsonb) returns void
language plpgsql volatile
as $$
begin
    insert into kinfolk.attempt (task_id, run, attempt, started_at, ended_at, worker_id, ending)
    select t.id, t.runs, t.attempt, t.started_at, p_maker.now, t.worker_id, 'completed'
    from kinfolk.task t
    where t.id = p_maker.task_id
        and t.runs > 1;
    update kinfolk.task t
    set
        state = 'waiting',
        outcome = 'completed',
        worker_id = null,
        result = p_result,
        failure = null,
        suspect = false,
        strikes = 0,
        child_slot = false
    where t.id = p_maker.task_id;
    if p_maker.was_suspended then
        perform kinfolk.wait_for_family(array[p_maker.task_id]);
    end if;
    if p_maker.holds_slots then
        perform kinfolk.release_slots(array[p_maker.task_id]);
    end if;
    if p_maker.child_slot then
        perform kinfolk.notify_queues(array[p_maker.queue_id], false);
    end if;
end
$$;
