-- Calls kinfolk.enqueue_rows with what an sqlx connection can send without further features: JSON and times as text and
-- microseconds. Numbers are taken first, in the same statement. One row for each task.

with ids as materialized (
    select kinfolk.take_ids(cardinality($1::text[])) as ids
),
answers as materialized (
    select r.*
    from ids
    cross join lateral kinfolk.enqueue_rows(
        ids.ids,
        $1::text[],
        $2::text[]::jsonb[],
        $3::text[],
        $4::integer[],
        array(
            select timestamptz 'epoch' + d.us * interval '1 microsecond'
            from unnest($5::bigint[]) with ordinality as d(us, nth)
            order by d.nth),
        $6::bigint[],
        $7::text[],
        $8::text[],
        $9::bigint[],
        $10::text[],
        $11::integer[],
        $12::bigint[],
        $13::text[],
        p_slot_keys => $14::text[]::jsonb[],
        p_strict => $15::boolean) r
)
select coalesce(a.outcome, 'created') as outcome, coalesce(a.id, case when a.nth is null then i.id end) as id, a.name
from ids
cross join lateral unnest(ids.ids) with ordinality as i(id, nth)
left join answers a on a.nth = i.nth
order by i.nth
