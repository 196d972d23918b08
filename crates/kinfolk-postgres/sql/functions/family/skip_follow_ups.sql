-- Cancels follow-ups, which the caller has locked, each because of the family that did not complete, and notes all families that
-- spoiled it: one of them may be retried (`follow_again`). Reads `follow_up_task`.
create or replace function kinfolk.skip_follow_ups(p_tasks bigint[], p_spoilers bigint[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_unique bigint[];
begin
    if p_tasks is null then
        return;
    end if;
    -- point: skip_follow_ups.judged
    -- Not by the key being there: of two indexes that would fit, the wrong one might be taken.
    v_unique := array(select t.id from kinfolk.task t where t.id = any (p_tasks) and t.unique_scope is not null order by t.id);
    perform kinfolk.apply_duplicates(k.id) from unnest(v_unique) as k(id);
    insert into kinfolk.released_key (queue_id, task_id)
    select t.queue_id, t.id
    from kinfolk.task t
    where t.id = any (v_unique);
    update kinfolk.task t
    set
        state = 'cancelled',
        gate = null,
        finished_at = p_now,
        failure = kinfolk.failure_skipped_follow_up(s.root_id),
        unique_held = t.unique_held and t.unique_scope = 'window'
    from unnest(p_tasks, p_spoilers) as s(task_id, root_id)
    where t.id = s.task_id;
    insert into kinfolk.skipped_follow_up (task_id, root_id, ended)
    select f.task_id, f.root_id, f.ended
    from kinfolk.follow_up f
    where f.task_id = any (p_tasks)
        and f.needs_completed
        and f.ended <> 'completed';
end
$$;
