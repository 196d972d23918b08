-- When slots were freed, so that a claim that has set its tasks running before it asks for their slots counts on none that was
-- freed after that.

alter table kinfolk.freed add column freed_at timestamptz not null default '-infinity';
