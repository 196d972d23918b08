-- Calls one function of the user's by `run_function`, and opens the envelope that it answers, unless its command says that it speaks
-- none: an object with a boolean member `success` is one. Locks nothing itself.

create or replace function kinfolk.call_function(name text, payload jsonb, envelope boolean) returns jsonb
language plpgsql volatile
as $$
declare
    v_answer jsonb := kinfolk.run_function(name, payload);
begin
    if envelope
        and pg_catalog.jsonb_typeof(v_answer operator(pg_catalog.->) 'success') operator(pg_catalog.=) 'boolean'
    then
        return kinfolk.open_envelope(name, v_answer);
    end if;
    return v_answer;
end
$$;
