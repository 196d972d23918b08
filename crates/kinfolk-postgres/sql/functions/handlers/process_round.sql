-- One round: what can be claimed now, and, unless it is to go on until the queue is idle, none of what comes of it. Answers how
-- many tasks it ran.
create or replace function kinfolk.process_round(p_worker uuid, p_queue text, p_patience text, p_until_idle boolean)
returns bigint
language plpgsql volatile
as $$
declare
    v_commands text[];
    v_token uuid;
    v_chosen bigint[];
    v_ran bigint[] := '{}';
    v_task bigint;
begin
    v_commands := kinfolk.begin_round(p_worker, p_queue);
    loop
        if not p_until_idle then
            -- A claim of nothing opens what is due and what follows up, and takes nothing.
            perform kinfolk.claim(p_worker, pg_catalog.gen_random_uuid(), p_queue, v_commands, 0);
            v_chosen := coalesce(v_chosen, kinfolk.claimable(p_queue, v_commands));
        end if;
        v_token := pg_catalog.gen_random_uuid();
        v_task := kinfolk.claim_chosen(p_worker, v_token, p_queue, v_commands, v_chosen, v_ran);
        exit when v_task is null;
        v_ran := v_ran operator(pg_catalog.||) v_task;
        perform kinfolk.process_task(v_task, v_token, p_patience);
    end loop;
    return pg_catalog.cardinality(v_ran);
end
$$;
