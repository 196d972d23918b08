-- Refuses to go on if a task was settled without the lock of its family: a call that works on that family as a whole may be
-- under way.
create or replace function kinfolk.require_locked(p_families bigint[], p_locked bigint[]) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if p_families is not null and exists (select unnest(p_families) except select unnest(p_locked)) then
        raise exception using errcode = 'KF001', message = 'a task belongs to a family that was not named',
            hint = 'name the roots of all tasks that have a parent, or that were suspended, or none at all';
    end if;
end
$$;
