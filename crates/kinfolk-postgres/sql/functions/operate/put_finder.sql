-- Has `doctor` call a function of a module as well, and tell what it finds. The function is `schema.name()`, security definer with a
-- pinned search path, stable, granted to the owner of this schema, and answers table (subject, health, found, remedy) of texts; `health`
-- is good, warning or bad. Locks the row of its name.

create or replace function kinfolk.put_finder(function text) returns void
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
declare
    v_why text;
begin
    if function is null then
        raise exception using errcode = 'KF001', message = 'function is null', hint = 'write schema.function';
    end if;
    v_why := (select f.why from kinfolk.find_finder(function) f);
    if v_why is not null then
        raise exception using errcode = 'KF001', message = format('%s can''t add to what doctor finds: %s', left(function, 200), v_why);
    end if;
    insert into kinfolk.finder (function) values (put_finder.function)
    on conflict do nothing;
end
$$;
