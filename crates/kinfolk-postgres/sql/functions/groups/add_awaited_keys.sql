-- Makes the keys of a group ready that have waiters, after their limits have changed. The caller has the group's admission
-- lock.
create or replace function kinfolk.add_awaited_keys(p_group integer, p_keys text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queues integer[];
begin
    with added as (
        insert into kinfolk.ready_key (queue_id, command_id, group_id, key)
        select w.queue_id, w.command_id, p_group, k.key
        from unnest(p_keys) as k(key)
        cross join lateral kinfolk.waiting_lines(p_group, k.key) w
        on conflict do nothing
        returning queue_id
    )
    select array_agg(distinct m.queue_id) into v_queues from added m;
    if v_queues is not null then
        perform kinfolk.notify_queues(v_queues, false);
    end if;
end
$$;
