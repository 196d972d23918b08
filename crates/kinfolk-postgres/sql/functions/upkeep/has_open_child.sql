-- Whether a child of a fan-out has not ended.
create or replace function kinfolk.has_open_child(p_fan_out bigint) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    return exists (
        select
        from (
            select c.state
            from kinfolk.task c
            where c.fan_out_id = p_fan_out
                and c.state < 'completed'
            order by c.nth desc
            limit 1
        ) last);
end
$$;
