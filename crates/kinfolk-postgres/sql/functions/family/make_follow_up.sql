-- Makes a follow-up that waits for one family. If a pending root holds its unique key, that root waits for the family too,
-- and nothing is made. If the holder has started, nothing happens. `p_ended`: the final state of the family, if it ends in
-- this transaction; null while it goes on.
--
-- The caller holds the lock of the key (`lock_follow_up_keys`), so two families at once find one holder. Reads `task_unique`;
-- locks the holder and waits for it: a claim that holds it ends soon and waits for nobody.

create or replace function kinfolk.make_follow_up(
    p_maker kinfolk.maker, p_task kinfolk.new_task, p_needs_completed boolean, p_ended kinfolk.state
) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
    v_holder record;
begin
    while p_task.unique_key is not null loop
        select t.id, t.queue_id, t.state = 'pending' and t.runs = 0 as fresh
        into v_holder
        from kinfolk.task t
        where t.unique_key = p_task.unique_key
            and t.command_id = p_task.command_id
            and t.parent_id is null
            and kinfolk.holds(t, p_maker.now)
        order by t.id
        limit 1;
        exit when not found;
        if not v_holder.fresh then
            return;
        end if;
        perform
        from kinfolk.task t
        where t.id = v_holder.id
            and t.state = 'pending'
            and t.runs = 0
        for update;
        if found then
            perform kinfolk.join_follow_up(v_holder.id, v_holder.queue_id, p_maker.root_id, p_ended, p_needs_completed, p_task.id,
                p_task.on_duplicate, p_task.payload);
            return;
        end if;
        -- It has started or ended meanwhile: look again.
    end loop;

    insert into kinfolk.task
        (id, queue_id, command_id, state, gate, priority, max_attempts, position, due, created_at, timeout_us, trace, payload, keys,
        unique_held, unique_key, unique_scope, unique_window_us, on_duplicate, maker_id, follows_id)
    select p_task.id, p_task.queue_id, p_task.command_id, 'pending', 'after', p_task.priority, p_task.max_attempts, p_maker.position,
        p_task.due, p_maker.now, p_task.timeout_us, p_task.trace,
        case when pg_column_size(p_task.payload) <= 256 then p_task.payload end, p_task.keys, u.is_unique, p_task.unique_key,
        case when u.is_unique then p_task.unique_scope end,
        case when u.is_unique and p_task.unique_scope = 'window' then p_task.unique_window_us end,
        case when u.is_unique then p_task.on_duplicate end, p_maker.task_id, p_maker.root_id
    from (select p_task.unique_key is not null as is_unique) u;
    if pg_column_size(p_task.payload) > 256 then
        insert into kinfolk.body (task_id, payload) values (p_task.id, p_task.payload);
    end if;
    insert into kinfolk.follow_up (task_id, root_id, needs_completed, queue_id, ended)
    values (p_task.id, p_maker.root_id, p_needs_completed, p_task.queue_id, p_ended);
    if p_ended is not null then
        perform kinfolk.notify_queues(array[p_task.queue_id], false);
    end if;
end
$$;
