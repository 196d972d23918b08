-- all: every status, by name.
-- params: none
-- index:  by name
select name,
       commands,
       active,
       changed_at
from status
order by name
