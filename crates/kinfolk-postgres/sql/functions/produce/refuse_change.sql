-- Says to someone who writes to the view `kinfolk.tasks` how a task is made, changed or removed.

create or replace function kinfolk.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
    if tg_op = 'INSERT' then
        raise exception using errcode = 'KF001', message = 'a task is not inserted',
            hint = format('call select kinfolk.enqueue(%L, %L)', coalesce(new.command, 'command'), coalesce(new.payload, '{}'));
    elsif tg_op = 'UPDATE' then
        raise exception using errcode = 'KF001', message = 'a task is not updated',
            hint = format('call select kinfolk.retry(%1$s), kinfolk.cancel(%1$s) or kinfolk.run_now(%1$s)', old.id);
    end if;
    raise exception using errcode = 'KF001', message = 'a task is not deleted',
        hint = format('call select kinfolk.cancel(%s); an ended family goes with its retention, or by kinfolk.bulk(''delete'', filter)', old.id);
end
$$;

create or replace trigger refuse_change
instead of insert or update or delete on kinfolk.tasks
for each row execute function kinfolk.refuse_change();
