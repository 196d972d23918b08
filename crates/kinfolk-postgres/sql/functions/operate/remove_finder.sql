-- Has `doctor` call a function of a module no more. Answers whether it did. Locks the row of its name.

create or replace function kinfolk.remove_finder(function text) returns boolean
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if function is null then
        raise exception using errcode = 'KF001', message = 'function is null', hint = 'write schema.function';
    end if;
    delete from kinfolk.finder f where f.function = remove_finder.function;
    return found;
end
$$;
