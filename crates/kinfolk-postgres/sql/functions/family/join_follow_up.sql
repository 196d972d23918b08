-- Makes a pending task, which the caller has locked, wait for one more family, and applies the newcomer's payload to it.
create or replace function kinfolk.join_follow_up(
    p_holder bigint, p_queue_id integer, p_root bigint, p_ended kinfolk.state, p_needs_completed boolean,
    p_newcomer bigint, p_on_duplicate kinfolk.on_duplicate, p_payload jsonb
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    insert into kinfolk.follow_up as f (task_id, root_id, needs_completed, queue_id, ended)
    values (p_holder, p_root, p_needs_completed, p_queue_id, p_ended)
    on conflict (task_id, root_id) do update set
        needs_completed = f.needs_completed or excluded.needs_completed,
        ended = excluded.ended;
    update kinfolk.task t
    set
        gate = 'after',
        blocked_group = null,
        blocked_key = null
    where t.id = p_holder
        -- A test in one transaction may hold it back behind `limit`.
        and t.gate <> 'after';
    -- point: join_follow_up.joined
    if p_on_duplicate <> 'keep' then
        perform kinfolk.add_duplicate(p_newcomer, p_holder, p_on_duplicate, p_payload);
    end if;
    if p_ended is not null then
        perform kinfolk.notify_queues(array[p_queue_id], false);
    end if;
end
$$;
