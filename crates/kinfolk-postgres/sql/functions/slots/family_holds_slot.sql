-- Whether a task, or one of its ancestors, holds a slot of a key: in a group with `hold` it is lent to the tasks below.
create or replace function kinfolk.family_holds_slot(p_task bigint, p_group integer, p_key text) returns boolean
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    while p_task is not null loop
        if kinfolk.holds_slot(p_task, p_group, p_key) then
            return true;
        end if;
        p_task := (select t.parent_id from kinfolk.task t where t.id = p_task);
    end loop;
    return false;
end
$$;
