-- The effect of an insert into `kinfolk.registration`, with the owner's rights. `new.caller` is the role that inserts.

create or replace function kinfolk.carry_out_registration() returns trigger
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
as $$
begin
    if coalesce(cardinality(new.names), 0) = 0 then
        raise exception using errcode = 'KF001', message = 'no command is named', hint = 'give p_names one name or more';
    end if;
    if new.spans is not null then
        new.base_ms := array[kinfolk.micros(new.spans[1]) / 1000];
        new.cap_ms := array[kinfolk.micros(new.spans[2]) / 1000];
        new.timeouts_us := array[kinfolk.micros(new.spans[3])];
        new.statement_timeouts_us := array[kinfolk.micros(new.spans[4])];
        new.groups := array[kinfolk.groups_given(new.groups[1])];
    end if;
    perform kinfolk.keep_commands(new);
    return new;
end
$$;

create or replace trigger carry_out
instead of insert on kinfolk.registration
for each row execute function kinfolk.carry_out_registration();
