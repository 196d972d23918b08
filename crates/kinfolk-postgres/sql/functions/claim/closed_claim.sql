-- The last row of a claim on a queue that is paused, in other hands or unknown, or of no command. The tasks that a repeated call took before
-- stay taken, also while the queue is paused.

create or replace function kinfolk.closed_claim(p_queue integer, p_taken integer) returns setof kinfolk.claimed
language plpgsql stable
as $$
declare
    v_last kinfolk.claimed;
begin
    v_last.next_due := case when p_taken > 0 then kinfolk.next_due(p_queue) end;
    v_last.again := false;
    v_last.more := false;
    v_last.unflushed := p_taken > 0;
    return next v_last;
end
$$;
