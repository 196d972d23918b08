-- audit: one entry more.
-- params: 1 now, 2 who, 3 what, 4 subject, 5 tasks
insert into audit (at, who, what, subject, tasks)
values (?1, ?2, ?3, ?4, ?5)
