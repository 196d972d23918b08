-- Refuses to go on when a task of a family was settled whose lock was not taken: whoever works on the family as a whole would
-- not have been waited for.
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
