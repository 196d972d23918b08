-- Tasks as they are shown, in this order.

create or replace function kinfolk.get_tasks(p_ids bigint[]) returns setof kinfolk.tasks
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    return query
    select t.*
    from unnest(p_ids) with ordinality as u(id, nth)
    cross join lateral (select t.* from kinfolk.tasks t where t.id = u.id offset 0) t
    order by u.nth;
end
$$;
