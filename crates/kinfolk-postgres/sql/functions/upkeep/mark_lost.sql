-- Marks the keys whose wake-up was lost, and answers how many there were.
create or replace function kinfolk.mark_lost() returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_marked record;
begin
    with marked as (
        insert into kinfolk.ready_key (queue_id, command_id, group_id, key)
        select l.queue_id, l.command_id, l.group_id, l.key
        from kinfolk.lost_keys() l
        limit kinfolk.sweep_page()
        on conflict do nothing
        returning queue_id
    )
    select count(*) as many, array_agg(distinct m.queue_id) as queues into v_marked from marked m;
    if v_marked.many > 0 then
        perform kinfolk.notify_queues(v_marked.queues, false);
    end if;
    return v_marked.many;
end
$$;
