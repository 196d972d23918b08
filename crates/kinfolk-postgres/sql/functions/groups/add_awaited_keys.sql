-- Leaves hints about the keys of a group that have waiters, after their limits have changed, and wakes the queues of these.
create or replace function kinfolk.add_awaited_keys(p_group integer, p_keys text[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_queues integer[];
begin
    with awaited as materialized (
        select k.key, k.nth, array(select distinct w.queue_id from kinfolk.waiting_lines(p_group, k.key) w) as queues
        from unnest(p_keys) with ordinality as k(key, nth)
    ),
    hinted as (
        insert into kinfolk.freed (group_id, keys, tasks)
        select p_group, array_agg(a.key), '{}'
        from awaited a
        where a.queues <> '{}'
        group by a.nth / 128
    )
    select array_agg(distinct q) into v_queues from awaited a cross join unnest(a.queues) q;
    if v_queues is not null then
        perform kinfolk.notify_queues(v_queues, false);
    end if;
end
$$;
