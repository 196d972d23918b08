-- Limits the spent time of the keys of a group, or of one key, to the whole burst of the present rate. The caller has the
-- admission lock.
create or replace function kinfolk.rein_in(p_group integer, p_now timestamptz, p_key text default null) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    update kinfolk.spent s
    set spent_until = p_now + r.burst * r.interval_us * interval '1 microsecond'
    from (
        select array_agg(s.group_id) as groups, array_agg(s.key) as keys
        from kinfolk.spent s
        where s.group_id = p_group
            and (p_key is null or s.key = p_key)
            and s.spent_until > p_now
    ) k
    cross join lateral kinfolk.key_rooms(k.groups, k.keys, p_now) r
    where s.group_id = r.group_id
        and s.key = r.key
        and s.spent_until > p_now + r.burst * r.interval_us * interval '1 microsecond';
end
$$;
