-- One task, in a subtransaction: what a handler that fails has done is undone, and its failure is recorded.
create or replace function kinfolk.process_task(p_task bigint, p_token uuid, p_patience text) returns void
language plpgsql volatile
as $$
declare
    v_handled record;
    v_result jsonb;
    v_end record;
    v_is_engine boolean := true;
    v_code text;
    v_message text;
    v_detail text;
    v_hint text;
    v_context text;
    v_schema text;
    v_table text;
    v_column text;
    v_constraint text;
begin
    begin
        select e.* into v_handled from kinfolk.begin_handling(p_task, p_token) e;
        if v_handled.kind operator(pg_catalog.<>) 'suspended' then
            v_is_engine := false;
            perform pg_catalog.set_config('lock_timeout', p_patience, true);
            v_result := kinfolk.call_handler(v_handled.handler, v_handled.before, v_handled.after, v_handled.payload,
                v_handled.envelope, v_handled.resumed);
            set constraints all immediate;
            v_is_engine := true;
            perform pg_catalog.set_config('lock_timeout', '10ms', true);
            perform kinfolk.finish(p_task, p_token, v_result, v_handled.on_success);
        end if;
    exception
        when others then
            get stacked diagnostics
                v_code = returned_sqlstate,
                v_message = message_text,
                v_detail = pg_exception_detail,
                v_hint = pg_exception_hint,
                v_context = pg_exception_context,
                v_schema = schema_name,
                v_table = table_name,
                v_column = column_name,
                v_constraint = constraint_name;
            if v_is_engine and v_code operator(pg_catalog.=) '55P03' then
                raise;
            end if;
            select f.*
            into v_end
            from kinfolk.failure_of(v_code, v_message, v_detail, v_hint, v_context, v_schema, v_table, v_column,
                v_constraint) f;
            if v_end.slow_down is not null then
                perform kinfolk.slow_down_all(p_task, p_token, v_end.slow_down);
            end if;
            perform kinfolk.settle(array[p_task], array[p_token], array[v_end.outcome], array[null::pg_catalog.jsonb],
                array[v_end.failure], array[v_end.delay_us]);
    end;
    perform pg_catalog.set_config('kinfolk.task', '', true);
    perform pg_catalog.set_config('kinfolk.token', '', true);
end
$$;
