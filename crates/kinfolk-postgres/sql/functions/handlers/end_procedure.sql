-- The part after a procedure: its hook and the settle, in one transaction.
create or replace function kinfolk.end_procedure(task bigint, token uuid, result jsonb) returns text
language plpgsql volatile
as $$
declare
    v_handled record;
begin
    select h.* into v_handled from kinfolk.handling(task, token) h;
    if v_handled.envelope
        and pg_catalog.jsonb_typeof(result operator(pg_catalog.->) 'success') operator(pg_catalog.=) 'boolean'
    then
        result := kinfolk.open_envelope(v_handled.handler, result);
    end if;
    if v_handled.after is not null then
        perform kinfolk.call_function(v_handled.after, v_handled.payload, v_handled.envelope);
    end if;
    set constraints all immediate;
    return kinfolk.finish(task, token, result, v_handled.on_success);
end
$$;
