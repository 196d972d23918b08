-- Raises that a task can't be made. `p_why`: unknown_command, unknown_queue or unknown_group; `p_name`: which. The detail of the
-- error is both, for programs.

create or replace function kinfolk.reject(p_why text, p_name text) returns void
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using
        errcode = 'KF009',
        message = format('%s %s', replace(p_why, '_', ' '), p_name),
        hint = case p_why
            when 'unknown_command' then 'register it, or start a worker that handles it'
            when 'unknown_queue' then 'register a command on it, or make it with `kinfolk queue set`'
            else 'leave the key out, or declare the group with its command'
        end,
        detail = format('%s %s', p_why, p_name);
end
$$;
