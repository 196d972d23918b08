-- put_page: a stretch of the order in which the children of a fan-out have ended, new or longer than before.
-- params: 1 fan_out_id, 2 first, 3 nths
-- index:  by fan-out and ordinal
insert into ended_page (fan_out_id, first, nths)
values (?1, ?2, ?3)
on conflict (fan_out_id, first) do update
set nths = excluded.nths
