-- The first keys of a group, after this one (null: from the start), on the pages of its slots.
create or replace function kinfolk.held_keys(p_group integer, p_after text, p_most integer) returns text[]
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return array(
        select distinct h.key
        from kinfolk.slot_holder s
        cross join lateral unnest(s.keys) as h(key)
        where s.group_id = p_group
            and (p_after is null or h.key > p_after)
        order by h.key
        limit p_most);
end
$$;
