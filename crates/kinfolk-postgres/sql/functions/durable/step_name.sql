-- The name of a step, in the words of every store.
create or replace function kinfolk.step_name(p_branch text, p_name text, p_occurrence integer) returns text
language sql immutable
as $$
    select case when p_branch <> '' then p_branch || '/' else '' end || p_name
        || case when p_occurrence > 0 then '#' || p_occurrence + 1 else '' end
$$;
