-- A step after the last version that is shipped, for tests of the migration: it waits for a table that others may hold, and adds
-- a column at its end.

alter table kinfolk.migration add column tested_by text not null default session_user;
