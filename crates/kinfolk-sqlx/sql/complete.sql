-- Calls kinfolk.complete with what an sqlx connection can send without further features. One row: the state of the task.

select kinfolk.complete($1::bigint, $2::text::uuid, $3::text::jsonb)
