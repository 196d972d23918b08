-- one: a schedule by its name.
-- params: 1 name
-- index:  by name
select *
from schedule
where name = ?1
