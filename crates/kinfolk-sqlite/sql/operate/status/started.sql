-- started: the commands of which tasks were started since the last look.
-- params: none
-- index:  by command
select command_id
from started
