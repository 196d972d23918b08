-- Which of these keys would have more holders than slots with these tasks, by `key_number`. Page by page, where all holders of a key
-- stand on one; else over those of each key.
--
-- The caller has the admission locks.
create or replace function kinfolk.overfull_keys(p_groups integer[], p_keys text[], p_tasks bigint[]) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_sort = off
as $$
begin
    return array(
        with page as materialized (
            select p.* from kinfolk.slot_pages(p_groups, p_keys, p_tasks) p
        ),
        wanted as materialized (
            select p.group_id, k.key, p.slots, k.many, cardinality(array_positions(s.keys, k.key)) as held
            from page p
            left join lateral (
                select s.keys
                from kinfolk.slot_holder s
                where s.group_id = p.group_id
                    and s.page = p.page
                offset 0
            ) s on true
            cross join lateral (
                select k.key, count(*) as many
                from unnest(p.keys) as k(key)
                group by k.key
                offset 0
            ) k
            where p.spread = 1
            union all
            select k.group_id, k.key, k.slots, k.many, h.held
            from (
                select p.group_id, k.key, min(p.slots) as slots, min(p.first_page) as first_page, min(p.pages) as pages,
                    min(p.spread) as spread, count(*) as many
                from page p
                cross join lateral unnest(p.keys) as k(key)
                where p.spread > 1
                group by p.group_id, k.key
            ) k
            cross join lateral (
                select sum(cardinality(array_positions(s.keys, k.key))) as held
                from generate_series(0, k.spread - 1) as i
                join kinfolk.slot_holder s on s.group_id = k.group_id
                    and s.page = kinfolk.slot_page(k.key, i, k.first_page, k.pages, k.spread)
            ) h
        )
        select kinfolk.key_number(w.group_id, w.key) from wanted w where w.many + coalesce(w.held, 0) > w.slots);
end
$$;
