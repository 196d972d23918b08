-- Adds the keys whose wake-up was lost to the ready keys, and answers how many there were. Has no admission lock,
-- unlike other calls that add ready keys: a key too many costs a claim one look. Reads what `lost_keys` reads.
create or replace function kinfolk.add_lost_keys() returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_added record;
begin
    with added as (
        insert into kinfolk.ready_key (queue_id, command_id, group_id, key)
        select l.queue_id, l.command_id, l.group_id, l.key
        from kinfolk.lost_keys() l
        limit kinfolk.sweep_page()
        on conflict do nothing
        returning queue_id
    )
    select count(*) as many, array_agg(distinct m.queue_id) as queues into v_added from added m;
    if v_added.many > 0 then
        perform kinfolk.notify_queues(v_added.queues, false);
    end if;
    return v_added.many;
end
$$;
