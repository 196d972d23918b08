-- Says to someone who inserts into the view `kinfolk.tasks` how a task is made.

create or replace function kinfolk.refuse_insert() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    raise exception using errcode = 'KF001', message = 'a task is not inserted',
        hint = format('call select kinfolk.enqueue(%L, %L)', coalesce(new.command, 'command'), coalesce(new.payload, '{}'));
end
$$;

create or replace trigger refuse_insert
instead of insert on kinfolk.tasks
for each row execute function kinfolk.refuse_insert();
