-- The tasks, by the hash of their numbers, whose handlers are at work in this database. Such a handler may outlive its worker for
-- a while: its task is left alone until its connection is gone. It is looked for among the locks, not tried: a lost worker may
-- have run more tasks than there is room for locks. One that begins only now has the next attempt wait for it, and is refused at
-- its end.

create or replace function kinfolk.handlers_at_work() returns bigint[]
language plpgsql volatile
as $$
begin
    return array(
        select l.objid::bigint
        from pg_locks l
        where l.locktype = 'advisory'
            and l.classid = 1263160908
            and l.database = (select d.oid from pg_database d where d.datname = current_database())
            and l.granted);
end
$$;
