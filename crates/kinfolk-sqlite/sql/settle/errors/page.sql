-- errors: a page, newest first.
-- params: 1 only entries with a smaller number, 2 page
-- index:  the primary key, backwards
select *
from error_shown
where id < ?1
order by id desc
limit ?2
