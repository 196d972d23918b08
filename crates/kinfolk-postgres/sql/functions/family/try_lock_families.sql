-- `lock_families` for a caller that must not wait: takes the locks that are free. Returns the families that it has locked,
-- shared and exclusively.
create or replace function kinfolk.try_lock_families(inout p_shared bigint[], inout p_whole bigint[])
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_had integer[];
begin
    select array_agg(l.key) filter (where case
            when l.whole then pg_try_advisory_xact_lock(1263160905, l.key)
            else pg_try_advisory_xact_lock_shared(1263160905, l.key)
        end)
    into v_had
    from kinfolk.family_keys(p_shared, p_whole) l;
    p_shared := array(select s from unnest(p_shared) s where hashint8(s) & 255 = any (v_had));
    p_whole := array(select w from unnest(p_whole) w where hashint8(w) & 255 = any (v_had));
end
$$;
