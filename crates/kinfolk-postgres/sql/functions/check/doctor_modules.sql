-- The findings that functions of modules add to `doctor` (`put_finder`). A function that can't be called, or fails, is a finding
-- itself. Locks nothing; reads `finder`, and the tables that those functions read.

create or replace function kinfolk.doctor_modules()
returns table (subject text, health text, found text, remedy text)
language plpgsql stable
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_finder record;
begin
    for v_finder in
        select f.function, c.call_name, c.why
        from kinfolk.finder f
        cross join lateral kinfolk.find_finder(f.function) c
        order by f.function
    loop
        if v_finder.why is not null then
            return query
            select v_finder.function, 'warning', v_finder.why, format('mend it, or select kinfolk.remove_finder(%L)', v_finder.function);
            continue;
        end if;
        begin
            -- The name is from the catalogue, and quoted.
            return query execute format('select coalesce(f.subject, $1), case when f.health in (''good'', ''warning'') then f.health else ''bad'' end,
                coalesce(f.found, ''''), coalesce(f.remedy, '''') from %s() f limit 100', v_finder.call_name)
            using v_finder.function;
        exception
            when others then
                return query select v_finder.function, 'bad', format('it failed: %s', sqlerrm), 'mend that function'::text;
        end;
    end loop;
end
$$;
