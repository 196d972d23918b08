-- Drops what attempts of these tasks meant to make. Only a procedure can leave something behind.
create or replace function kinfolk.drop_intents(p_tasks bigint[]) returns void
language plpgsql volatile
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
begin
    if exists (select from kinfolk.command c where c.handler_kind = 'procedure') then
        delete from kinfolk.intent i where i.task_id = any (p_tasks);
    end if;
end
$$;
