-- The key of a group that comes after this one (null: the first) among those that someone waits behind, or that have a rate.
create or replace function kinfolk.next_key(p_group integer, p_after text) returns text
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    -- A total has the empty key: before all others.
    v_first boolean := p_after is null;
begin
    return (
        select min(k.key collate "C")
        from (
            (
                select t.blocked_key as key
                from kinfolk.task t
                where t.blocked_group = p_group
                    and t.gate = 'limit'
                    and (v_first or t.blocked_key > p_after)
                order by t.blocked_key
                limit 1
            )
            union all
            (
                select s.key
                from kinfolk.spent s
                where s.group_id = p_group
                    and (v_first or s.key > p_after)
                order by s.key
                limit 1
            )
        ) k);
end
$$;
