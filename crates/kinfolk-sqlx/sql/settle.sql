-- Calls kinfolk.settle with what an sqlx connection can send without further features. One row for each settle that is not
-- plainly completed: its place, the answer, the state.

select s.nth, s.answer, s.state
from kinfolk.settle($1::bigint[], $2::text[]::uuid[], $3::text[], $4::text[]::jsonb[], $5::text[]::jsonb[], $6::bigint[]) s
