-- Whether a waiting task waits for nothing. One whose time has merely come is opened by a claim.
create or replace function kinfolk.is_stuck(p_task kinfolk.task) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_task.outcome is not null then
        return not exists (
            select
            from (select f.id from kinfolk.fan_out f where f.task_id = p_task.id offset 0) f
            where kinfolk.has_open_child(f.id));
    end if;
    return exists (
            select
            from (select f.* from kinfolk.fan_out f where f.task_id = p_task.id offset 0) f
            where f.wake_at is not null
                and (f.verdict is not null or f.completed + f.failed + f.cancelled >= f.wake_at
                    or not kinfolk.has_open_child(f.id)))
        or (p_task.signals is not null and exists (
            select
            from (select s.name from kinfolk.signal s where s.task_id = p_task.id offset 0) s
            where s.name = any (p_task.signals)));
end
$$;
