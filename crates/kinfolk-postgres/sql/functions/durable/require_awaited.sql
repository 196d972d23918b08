-- Refuses to await a fan-out that the handler of this task has not begun.
create or replace function kinfolk.require_awaited(p_task bigint, p_fan_outs bigint[]) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
    v_strange bigint;
begin
    select g.id
    into v_strange
    from unnest(p_fan_outs) as g(id)
    where not exists (
        select
        from (select f.task_id, f.rule from kinfolk.fan_out f where f.id = g.id offset 0) f
        where f.task_id = p_task
            and f.rule is not null)
    limit 1;
    if found then
        raise exception using errcode = 'KF001', message = format('fan-out %s is not awaited by task %s', v_strange, p_task);
    end if;
end
$$;
