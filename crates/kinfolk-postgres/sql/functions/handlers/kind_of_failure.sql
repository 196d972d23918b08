-- What sort of failure an error is that a handler raised. A fan-out (KF025, its detail) went wrong by its children where a sub-task
-- failed: not where it took too long, nor where someone cancelled a sub-task.
create or replace function kinfolk.kind_of_failure(p_code text, p_detail text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
    select case
        when p_code = 'KF022' then 'validation'
        when p_code in ('KF009', 'KF011') then 'refused'
        when p_code = '57014' then 'timeout'
        when p_code is distinct from 'KF025' then 'error'
        when p_detail::jsonb ->> 'verdict' = 'failed'
            and jsonb_path_exists(p_detail::jsonb, '$.failures[*].failure.kind ? (@ != "cancelled" && @ != "skipped")')
        then 'children'
        else 'error'
    end
$$;
