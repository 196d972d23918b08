-- Leaves hints about the keys whose wake-up was lost, and answers how many lines wait behind them.
create or replace function kinfolk.add_lost_keys() returns bigint
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_lost record;
    v_many bigint := 0;
begin
    for v_lost in
        select l.group_id, array_agg(distinct l.key) as keys, count(*) as many
        from (select l.* from kinfolk.lost_keys() l limit kinfolk.sweep_page()) l
        group by l.group_id
    loop
        perform kinfolk.add_awaited_keys(v_lost.group_id, v_lost.keys);
        v_many := v_many + v_lost.many;
    end loop;
    return v_many;
end
$$;
