-- Answers those who give a task by the words of other engines with ours. `p_instead`: what to do instead of naming a parent.
create or replace function kinfolk.require_our_words(p_scheduled_at timestamptz, p_parent bigint, p_instead text) returns boolean
language plpgsql immutable
as $$
begin
    if p_parent is not null then
        raise exception using errcode = 'KF001', message = 'a parent can not be given', hint = p_instead;
    elsif p_scheduled_at is not null then
        raise exception using errcode = 'KF001', message = 'scheduled_at is called due here',
            hint = format('write due => %L', p_scheduled_at);
    end if;
    return true;
end
$$;
