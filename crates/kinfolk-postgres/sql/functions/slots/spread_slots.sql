-- Gives a group one page for about 64 holders, and spreads the holders of one key over several pages where it has more than a
-- page of them. If the number of pages fits, but a page was written often, all pages get new numbers: old versions that can't
-- be removed yet stay behind under the old numbers.
--
-- The caller has the admission lock.
create or replace function kinfolk.spread_slots(p_group integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_group record;
    v_held record;
    v_first integer;
    v_pages integer;
    v_spread integer;
begin
    select g.first_page, g.pages, g.spread into v_group from kinfolk.slot_group g where g.id = p_group;
    select sum(cardinality(s.tasks)) as many, max(k.holders) * v_group.spread as most, max(s.writes) as writes
    into v_held
    from kinfolk.slot_holder s
    left join lateral (
        select count(*) as holders
        from unnest(s.keys) as k(key)
        group by k.key
        order by count(*) desc
        limit 1
    ) k on cardinality(s.tasks) >= 128 or v_group.spread > 1
    where s.group_id = p_group
        and s.page >= v_group.first_page;
    v_spread := 2 ^ ceil(log(2, greatest(v_held.most / 64, 1)));
    v_pages := greatest(2 ^ ceil(log(2, greatest(v_held.many / 64, 1))), v_spread);
    if (v_group.pages, v_group.spread) = (v_pages, v_spread) and v_held.writes < kinfolk.slot_writes_max() then
        return;
    end if;
    v_first := v_group.first_page + v_group.pages;
    update kinfolk.slot_group g
    set
        first_page = v_first,
        pages = v_pages,
        spread = v_spread
    where g.id = p_group;
    with gone as (
        delete from kinfolk.slot_holder s
        where s.group_id = p_group
            and s.page >= v_group.first_page
        returning s.keys, s.tasks
    )
    insert into kinfolk.slot_holder (group_id, page, keys, tasks)
    select p_group, kinfolk.slot_page(h.key, h.task_id, v_first, v_pages, v_spread), array_agg(h.key), array_agg(h.task_id)
    from gone g
    cross join lateral unnest(g.keys, g.tasks) as h(key, task_id)
    group by kinfolk.slot_page(h.key, h.task_id, v_first, v_pages, v_spread);
end
$$;
