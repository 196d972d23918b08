-- The kind of failure of an error that a handler raised. `p_of_fan_out`: the kind of a fan-out's own error (KF025), null for one that
-- is not the engine's.
create or replace function kinfolk.kind_of_failure(p_code text, p_of_fan_out text) returns text
language sql immutable
as $$
    select case
        when p_code = 'KF022' then 'validation'
        when p_code in ('KF009', 'KF011') then 'refused'
        when p_code = '57014' then 'timeout'
        when p_code = 'KF025' then coalesce(p_of_fan_out, 'error')
        else 'error'
    end
$$;
