-- Takes the locks of the unique keys under which a claim is about to start tasks, and answers the tasks whose key is
-- in other hands: they are not to start now. Only a root whose key is still held once it runs needs one.
--
-- No other transaction sees a task that this one makes, so a task that it makes and starts has the lock of its key whole
-- (`p_made`). All others have it shared: they were committed before, so a claim beside them meets their rows.
--
-- Takes locks of class 1263160911, never waiting. There are 256 of them for all keys, as there are for families. The caller has
-- locked the tasks, and looks for siblings in a later statement.

create or replace function kinfolk.lock_starts(p_tasks bigint[], p_made boolean) returns bigint[]
language plpgsql volatile
set search_path = pg_catalog, pg_temp
as $$
declare
    v_ids bigint[];
    v_locks integer[];
    v_had integer[];
begin
    select array_agg(t.id), array_agg(hashtext(t.command_id || ' ' || t.unique_key) & 255)
    into v_ids, v_locks
    from unnest(p_tasks) as g(id)
    join kinfolk.task t on t.id = g.id
    where t.unique_held
        and t.unique_scope <> 'pending'
        and t.runs = 0
        and t.parent_id is null;
    if v_ids is null then
        return '{}';
    end if;
    v_had := array(
        select l.key
        from (select distinct u as key from unnest(v_locks) u) l
        where case
            when p_made then pg_try_advisory_xact_lock(1263160911, l.key)
            else pg_try_advisory_xact_lock_shared(1263160911, l.key)
        end);
    return array(select t.id from unnest(v_ids, v_locks) as t(id, key) where t.key <> all (v_had));
end
$$;
