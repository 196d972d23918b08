-- Removes a group with everything that belongs to it. The caller has its admission lock, and no command declares it any more.
create or replace function kinfolk.erase_group(p_group integer) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
begin
    perform kinfolk.drop_reservations(array(select r.task_id from kinfolk.reserved r where r.group_id = p_group));
    delete from kinfolk.spent s where s.group_id = p_group;
    delete from kinfolk.slot_setting s where s.group_id = p_group;
    delete from kinfolk.ready_key m where m.group_id = p_group;
    delete from kinfolk.freed f where f.group_id = p_group;
    delete from kinfolk.slot_holder s where s.group_id = p_group;
    delete from kinfolk.slot_group g where g.id = p_group;
    perform kinfolk.open_blocked(p_group, null);
end
$$;
