-- Where a listing looks: the tasks of the smallest set that an index gives for a filter, in the order of the page; null when
-- every set has more than `look_max`: then tasks are walked through by number. Sets that are small by nature are tried first.
-- Reads `task_unique`, `task_follows`, `task_fan_out`, `fan_out_task`, `fan_out_root`, and what `in_states` reads.

create or replace function kinfolk.candidates(p_filter jsonb) returns bigint[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
set plan_cache_mode = force_custom_plan
set enable_seqscan = off
set jit = off
as $$
declare
    v_page constant integer := kinfolk.look_max() + 1;
    v_root bigint := (p_filter ->> 'root')::bigint;
    v_ids bigint[];
begin
    if p_filter ? 'unique' then
        v_ids := array(select t.id from kinfolk.task t where t.unique_key = p_filter ->> 'unique' limit v_page);
    end if;
    if p_filter ? 'follows' and coalesce(cardinality(v_ids), v_page) = v_page then
        v_ids := array(select t.id from kinfolk.task t where t.follows_id = (p_filter ->> 'follows')::bigint limit v_page);
    end if;
    if p_filter ? 'fan_out' and coalesce(cardinality(v_ids), v_page) = v_page then
        v_ids := array(select t.id from kinfolk.task t where t.fan_out_id = (p_filter ->> 'fan_out')::bigint limit v_page);
    end if;
    if p_filter ? 'parent' and coalesce(cardinality(v_ids), v_page) = v_page then
        v_ids := array(
            select t.id
            from kinfolk.fan_out f
            join kinfolk.task t on t.fan_out_id = f.id
            where f.task_id = (p_filter ->> 'parent')::bigint
            limit v_page);
    end if;
    if v_root is not null and coalesce(cardinality(v_ids), v_page) = v_page then
        v_ids := array(
            select t.id
            from kinfolk.fan_out f
            join kinfolk.task t on t.fan_out_id = f.id
            where f.root_id = v_root
            limit v_page - 1) || v_root;
    end if;
    if jsonb_array_length(p_filter -> 'state') > 0 and coalesce(cardinality(v_ids), v_page) = v_page then
        v_ids := kinfolk.in_states(p_filter, v_page);
    end if;
    if coalesce(cardinality(v_ids), v_page) >= v_page then
        return null;
    end if;
    return array(
        select distinct u.id
        from unnest(v_ids) as u(id)
        cross join kinfolk.filter_range(p_filter) r
        where u.id > r.lowest
            and u.id < r.highest
        order by u.id);
end
$$;
