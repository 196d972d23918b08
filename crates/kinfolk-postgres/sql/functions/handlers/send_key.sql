-- The key under which a provider knows what a task sends: the same for all its attempts, another for every other task, also of another
-- database. Locks nothing.

create or replace function kinfolk.send_key(p_task bigint) returns text
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    return (
        select 'kinfolk-' || md5(format('%s %s %s', current_database(), t.id, extract(epoch from t.created_at)))
        from kinfolk.task t
        where t.id = p_task);
end
$$;
