-- Takes one start of each of these keys, as often as a key is given, where there is a rate: `kinfolk_core::admit::spend`. The
-- caller has the admission locks.
create or replace function kinfolk.spend_starts(p_groups integer[], p_keys text[], p_now timestamptz) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    insert into kinfolk.spent as s (group_id, key, spent_until)
    select r.group_id, r.key, greatest(r.spent_until, p_now) + d.many[r.nth] * r.interval_us * interval '1 microsecond'
    from (
        select array_agg(u.group_id) as groups, array_agg(u.key) as keys, array_agg(u.many) as many
        from (
            select k.group_id, k.key, count(*) as many
            from unnest(p_groups, p_keys) as k(group_id, key)
            group by k.group_id, k.key
        ) u
    ) d
    cross join lateral kinfolk.key_rooms(d.groups, d.keys, p_now) r
    where r.interval_us is not null
    on conflict (group_id, key) do update set spent_until = excluded.spent_until;
end
$$;
