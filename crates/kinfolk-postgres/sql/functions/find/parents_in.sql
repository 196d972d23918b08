-- Tasks that have children, in the range of a filter's page, those that its order has first, at most so many; by their numbers.
-- Reads `fan_out_task`.

create or replace function kinfolk.parents_in(p_filter jsonb, p_page integer) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set enable_hashagg = off
set jit = off
as $$
declare
    r record;
begin
    select * into r from kinfolk.filter_range(p_filter);
    if p_filter ->> 'order' = 'oldest' then
        return array(
            select distinct f.task_id
            from kinfolk.fan_out f
            where f.task_id > r.lowest and f.task_id < r.highest
            order by f.task_id
            limit p_page);
    end if;
    return array(
        select p.task_id
        from (
            select distinct f.task_id
            from kinfolk.fan_out f
            where f.task_id > r.lowest and f.task_id < r.highest
            order by f.task_id desc
            limit p_page
        ) p
        order by p.task_id);
end
$$;
