-- Whether a task holds its unique key.

create or replace function kinfolk.holds(t kinfolk.task, p_now timestamptz) returns boolean
language sql stable parallel safe
as $$
    select t.unique_held
        and (t.unique_scope <> 'window' or p_now < t.created_at + t.unique_window_us * interval '1 microsecond')
$$;
