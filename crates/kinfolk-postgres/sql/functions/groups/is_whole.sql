-- Whether a JSON value is null or a whole number that the engine can count to.
create or replace function kinfolk.is_whole(p_number jsonb) returns boolean
language sql immutable
as $$
    select case coalesce(jsonb_typeof(p_number), 'null')
        when 'null' then true
        when 'number' then abs(p_number::numeric) < 1e18 and p_number::numeric % 1 = 0
        else false
    end
$$;
