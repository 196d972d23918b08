-- Records that an attempt is done, in the caller's own transaction: what that wrote and the task's end are one, exactly once.
-- Answers the state of the task then: `completed`, or `waiting` for its children. Anything else is an error (KF012), so that
-- the transaction can't be committed by mistake.
--
-- Locks what `settle` locks: it is the last call before the commit.

create or replace function kinfolk.complete(task bigint, token uuid, result jsonb default null) returns text
language plpgsql volatile security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
    v_end record;
begin
    if num_nulls(complete.task, complete.token) > 0 then
        raise exception using errcode = 'KF001', message = 'task or token is null',
            hint = 'give the number of the task and the token of its claim';
    end if;
    perform kinfolk.require_given(complete.result, null);
    -- What is recorded as completed is not answered.
    select coalesce(s.answer, 'recorded') as answer, coalesce(s.state, 'completed') as state
    into v_end
    from (select) nothing
    left join kinfolk.settle(array[complete.task], array[complete.token], array['done'], array[complete.result]) s on true;
    return kinfolk.require_done(complete.task, v_end.answer, v_end.state);
end
$$;
