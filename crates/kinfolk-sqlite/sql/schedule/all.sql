-- all: every schedule.
-- params: none
-- index:  by name
select *
from schedule
order by name
