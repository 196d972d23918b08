-- Calls kinfolk.settle_made with what an sqlx connection can send without further features, and raises unless this very attempt is
-- recorded as done. One row: the state of the task.

select kinfolk.require_done($1::bigint, s.answer, s.state)
from kinfolk.settle_made(
    $1::bigint,
    $2::text::uuid,
    $3::text::jsonb,
    $4::text,
    $5::text[],
    $6::text[],
    $7::text[]::jsonb[],
    $8::text[],
    $9::integer[],
    array(
        select timestamptz 'epoch' + d.us * interval '1 microsecond'
        from unnest($10::bigint[]) with ordinality as d(us, nth)
        order by d.nth),
    $11::bigint[],
    $12::text[],
    $13::text[],
    $14::bigint[],
    $15::text[],
    $16::integer[],
    $17::bigint[],
    $18::text[],
    $19::text[],
    p_slot_keys => $20::text[]::jsonb[],
    p_inherits => $21::boolean[]) s
