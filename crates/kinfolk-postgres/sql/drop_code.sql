-- Drops the views and every routine of an older version, so that those of the new one may have other arguments and answers
-- and nothing outlived stays behind. An object that users have built upon a routine stops the migration, and is named.

drop view if exists kinfolk.any_open, kinfolk.open_task, kinfolk.open_suspect, kinfolk.held_task, kinfolk.tasks, kinfolk.registration, kinfolk.continuation cascade;

do $$
declare
    v_old record;
begin
    for v_old in
        select p.oid::regprocedure as routine
        from pg_catalog.pg_proc p
        where p.pronamespace = 'kinfolk'::regnamespace
    loop
        execute format('drop routine %s', v_old.routine);
    end loop;
end
$$;
