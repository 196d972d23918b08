-- Calls kinfolk.lock_settled: what several settles of one transaction need is locked ahead.

select kinfolk.lock_settled($1::bigint[], $2::text[], $3::text[])
