-- any: whether anything is spent, or slowed down, of any key.
-- params: none
-- index:  the first row
select 1
from spent
limit 1
