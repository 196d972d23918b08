-- Settles one attempt of a task whose family the caller has locked, as `settle` does.

create or replace function kinfolk.settle_maker(p_maker kinfolk.maker, p_outcome text, p_result jsonb, p_failure jsonb)
returns table (answer text, state text)
language plpgsql volatile
as $$
#variable_conflict use_column
begin
    return query
    select r.answer, r.state
    from kinfolk.settle_rest(
        row(array[p_maker.task_id], array[p_maker.token], array[p_outcome], array[p_result], array[p_failure], '{}')::kinfolk.settles,
        '{}', p_maker.now, array[p_maker.root_id], case when p_maker.was_suspended then array[p_maker.root_id] end) r;
end
$$;
